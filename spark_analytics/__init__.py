"""Reports by Spark over the broker's own database. Imports no Django."""
