"""What all doors share on the way in: times, limits, partitions, and what is committed in groups."""
