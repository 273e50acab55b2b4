"""The command line behind ./broker. It starts Django as processes and never imports it."""
