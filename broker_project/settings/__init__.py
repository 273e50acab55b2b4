"""Settings by topic. A profile (development, production, test) puts the topics together."""
