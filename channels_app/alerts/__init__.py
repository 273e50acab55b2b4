"""Alerts: rules on numbers, episodes, and who is told. Apps bring their rules and what measures their numbers."""
