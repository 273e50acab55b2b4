"""The addresses of Dapr's HTTP API."""

from scheduling_app.api.dapr import about, bulk, delayed, jobs, publish

__all__ = ["PLAIN", "ROUTES"]

# Those with a short way in.
PLAIN = (publish.plain, jobs.plain)

ROUTES = (*bulk.ROUTES, *publish.ROUTES, *jobs.ROUTES, *delayed.ROUTES, *about.ROUTES)
