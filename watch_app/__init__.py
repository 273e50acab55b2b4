"""What staff watch: numbers over time, alerts, and the life of a message."""
