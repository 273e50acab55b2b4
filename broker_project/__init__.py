"""How the parts of the broker are put together."""

from broker_project.celery import app as celery_app

__all__ = ["celery_app"]
__version__ = "0.1.0"
