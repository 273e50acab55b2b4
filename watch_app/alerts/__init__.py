"""The rules that staff keep, and what measures the numbers that the dashboard shows."""
