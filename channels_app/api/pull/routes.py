"""All doors for consumers that ask, and what begins and ends with them."""

from channels_app.api.pull import acks, extend, index, job_state, lease, waiting

ROUTES = (*lease.ROUTES, *acks.ROUTES, *extend.ROUTES, *job_state.ROUTES, *index.ROUTES)
ON_START = (acks.start_door, waiting.start_desk)
ON_STOP = (waiting.stop_desk, acks.stop_door)
