"""What is old, finished and proven in the lake leaves the database; message_key stays as its tombstone."""
