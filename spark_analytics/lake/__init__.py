"""The lake: history as Parquet, in slices that are written aside and made live by a row in PostgreSQL."""
