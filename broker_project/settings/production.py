"""The profile for real traffic: secrets must be given, cookies are secure, logs are JSON."""

import structlog

from .admin import *
from .base import *
from .broker import *
from .celery import *
from .environment import env, production_secret, production_secrets, readable_egress
from .logs import logging_with
from .mail import *
from .rest import *

PROFILE = "production"
DEBUG = False
# Host names this broker answers to, comma separated.
ALLOWED_HOSTS: list[str] = env.list("ALLOWED_HOSTS")
# Origins that staff use the admin from, with their scheme, comma separated.
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", [])

# Signs sessions and everything else that Django signs.
SECRET_KEY = production_secret("SECRET_KEY", least=50)
TOKEN_KEYS = production_secrets("TOKEN_KEYS", least=32)
FLOWER_PASSWORD = production_secret("FLOWER_PASSWORD", least=16)

# Where messages may go though it is not public: ranges, addresses, hosts, *.domains, comma separated; none by default.
EGRESS_ALLOW: list[str] = readable_egress(env.list("EGRESS_ALLOW", []))

# Whether plain HTTP is sent to HTTPS. A proxy that ends TLS says so in X-Forwarded-Proto (see TRUSTED_PROXIES).
SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", True)
# How long browsers remember to use HTTPS only.
SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", 365 * 24 * 3600)
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True

LOGGING = logging_with(structlog.processors.JSONRenderer())
