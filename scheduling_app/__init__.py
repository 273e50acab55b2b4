"""Messages for later."""
