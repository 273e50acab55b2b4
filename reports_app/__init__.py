"""History: what of it is in the lake, the reports made of it, and what may leave the database."""
