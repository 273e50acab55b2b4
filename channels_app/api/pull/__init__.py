"""The doors for consumers that ask, answered by the frame: no thread and no connection is held by one who waits."""
