"""What every door takes of a content type, and for how long it reads at a time."""

MAX_CONTENT_TYPE = 255
DEFAULT_CONTENT_TYPE = "application/octet-stream"
# A thread would hold the interpreter just as long: reading stops by itself to let the event loop do other work.
SLICE_SECONDS = 0.002
