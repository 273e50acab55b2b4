"""All addresses of the polled queue, and what begins and ends with them."""

from broker_project.api.frame import Route
from channels_app.api.queue import poll, publish, registry
from channels_app.api.queue.publish import Gauges, start_door, stop_door

ON_START, ON_STOP = (start_door,), (stop_door,)


def routes(gauges: Gauges) -> tuple[Route, ...]:
    return (*publish.routes(gauges), *poll.ROUTES, *registry.ROUTES)
