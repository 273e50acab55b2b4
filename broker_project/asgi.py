"""The application that the web server runs: the frame with the broadcast door, then Django in threads.

Or one of the two (WEB_SERVES): a proxy tells them apart, so that a heavy page cannot slow down who publishes.
"""

from a2wsgi import WSGIMiddleware
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

# Django first: what is imported below knows models.
django = get_wsgi_application()

from broker_project.api import apart, health, metrics
from broker_project.api.door_bucket import close_door_bucket
from broker_project.api.door_pool import close_door_pool, open_door_pool
from broker_project.api.express import open_express
from broker_project.api.frame import Frame
from broker_project.lib.garbage import leave_what_is_loaded
from channels_app.alerts.watchdog import watch_when_nobody_does
from channels_app.api import keys, readiness
from channels_app.api.pull import routes as pull
from channels_app.api.queue import routes as queue
from channels_app.api.queue.publish import Gauges
from channels_app.known import keep_fresh
from channels_app.metrics.sources import SOURCES
from dlq_app.metrics.sources import SOURCES as DEAD_LETTERS
from scheduling_app.api import broadcast, broadcast_batch
from scheduling_app.api.dapr import routes as dapr
from scheduling_app.api.querator import routes as querator
from scheduling_app.door import commits, limits, loads
from scheduling_app.metrics.sources import SOURCES as SCHEDULING
from watch_app.metrics.sources import SOURCES as ALERTS

DOORS = (
    *broadcast.ROUTES,
    *broadcast_batch.ROUTES,
    *dapr.ROUTES,
    *pull.ROUTES,
    *queue.routes(Gauges(limits.check, loads.least_loaded)),
    *querator.ROUTES,
)
# Whichever of the two a process is.
ANYWHERE = (
    *health.routes((*health.CHECKS, *readiness.CHECKS)),
    *metrics.routes((*SOURCES, *SCHEDULING, *DEAD_LETTERS, *ALERTS), keys.key_opens),
)
has_doors, has_django = settings.WEB_SERVES != "django", settings.WEB_SERVES != "doors"

application = Frame(
    routes=(*(DOORS if has_doors else apart.closed(DOORS)), *ANYWHERE),
    # An unbounded queue for answers: with a bounded one a client that does not read holds a thread.
    fallback=WSGIMiddleware(django, workers=settings.WEB_THREADS, send_queue_size=0)  # type: ignore[arg-type]
    if has_django
    else apart.refuse,
    on_start=[open_door_pool, keep_fresh, watch_when_nobody_does, commits.start_door, *pull.ON_START, *queue.ON_START],
    on_stop=[*queue.ON_STOP, *pull.ON_STOP, commits.stop_door, close_door_bucket, close_door_pool],
)

if has_doors:
    for plain in (broadcast.plain, *dapr.PLAIN):
        open_express(plain)

if has_django:
    # Pages are loaded now, not when the first of them is asked for.
    get_resolver().url_patterns  # noqa: B018

leave_what_is_loaded()
