"""The default profile: one machine, loopback, secrets made in the data directory."""

import structlog

from .admin import *
from .base import *
from .broker import *
from .celery import *
from .environment import development_secret, env, from_environment, readable_egress
from .logs import logging_with
from .mail import *
from .rest import *

PROFILE = "development"
DEBUG = False
ALLOWED_HOSTS = ["*"]

SECRET_KEY = from_environment("SECRET_KEY") or development_secret("secret_key")
# Keys that encrypt tokens at rest, comma separated: the first encrypts, all decrypt.
TOKEN_KEYS = (from_environment("TOKEN_KEYS") or development_secret("token_key")).split(",")
# Flower's password, for the user admin.
FLOWER_PASSWORD = from_environment("FLOWER_PASSWORD") or development_secret("flower_password")

# For one machine: receivers on loopback may be delivered to.
EGRESS_ALLOW: list[str] = readable_egress(env.list("EGRESS_ALLOW", ["127.0.0.0/8", "::1"]))

LOGGING = logging_with(structlog.dev.ConsoleRenderer(colors=False))
