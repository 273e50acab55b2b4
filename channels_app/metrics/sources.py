"""Where a scrape looks, by the name that `broker_scrape_errors` gives it."""

from broker_project.api.metrics import Source
from channels_app.metrics import counted, held, stored

SOURCES = (
    Source("messages", stored.messages),
    Source("jobs", stored.jobs),
    Source("waiting", stored.waiting),
    Source("unacked", held.unacked),
    Source("index", held.index),
    Source("states", stored.states),
    Source("progress", stored.progress),
    Source("channels", counted.channels),
    Source("activity", counted.activity),
    Source("queues", counted.queues),
)
