"""What is measured, and where it is read from: rows for totals and states, Redis for what processes have seen."""
