"""The Querator door: POST, JSON, a reply with a code."""
