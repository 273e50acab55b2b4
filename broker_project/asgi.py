"""The application that the web server runs: the frame with the broadcast door, then Django in threads."""

from a2wsgi import WSGIMiddleware
from django.conf import settings
from django.core.wsgi import get_wsgi_application

# Django first: what is imported below knows models.
django = get_wsgi_application()

from broker_project.api import health, metrics
from broker_project.api.door_pool import close_door_pool, open_door_pool
from broker_project.api.express import open_express
from broker_project.api.frame import Frame
from broker_project.lib.garbage import leave_what_is_loaded
from channels_app.api import keys, readiness
from channels_app.api.pull import routes as pull
from channels_app.known import keep_fresh
from channels_app.metrics.sources import SOURCES
from dlq_app.metrics.sources import SOURCES as DEAD_LETTERS
from scheduling_app.api import broadcast, broadcast_batch
from scheduling_app.metrics.sources import SOURCES as SCHEDULING

application = Frame(
    routes=(
        *broadcast.ROUTES,
        *broadcast_batch.ROUTES,
        *pull.ROUTES,
        *health.routes((*health.CHECKS, *readiness.CHECKS)),
        *metrics.routes((*SOURCES, *SCHEDULING, *DEAD_LETTERS), keys.key_opens),
    ),
    # An unbounded queue for answers: with a bounded one a client that does not read holds a thread.
    fallback=WSGIMiddleware(django, workers=settings.WEB_THREADS, send_queue_size=0),  # type: ignore[arg-type]
    on_start=[open_door_pool, keep_fresh, broadcast.start_door, *pull.ON_START],
    on_stop=[*pull.ON_STOP, broadcast.stop_door, close_door_pool],
)

open_express(broadcast.plain)

leave_what_is_loaded()
