"""The core: channels, producers, consumers, and the way of a message from acceptance to its end."""
