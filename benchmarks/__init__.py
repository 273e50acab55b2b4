"""`./broker bench`: a whole broker of its own, measured beside what the same machine does without one."""
