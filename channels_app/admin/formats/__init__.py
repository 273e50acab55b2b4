"""How the admin writes dates (FORMAT_MODULE_PATH)."""
