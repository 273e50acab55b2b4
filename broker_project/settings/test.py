"""The profile of the tests: the real PostgreSQL and Redis that `./broker test` starts."""

import os

from .development import *

PROFILE = "test"
SECRET_KEY = "a secret for tests only, long enough for Django's own check of it"
TOKEN_KEYS = ["a token key for tests only"]
FLOWER_PASSWORD = "a password for tests only"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}

# Nothing is collected for tests; whitenoise only asks that it be there.
STATIC_ROOT.mkdir(parents=True, exist_ok=True)

# Each parallel test process has a Redis database of its own, as it has a PostgreSQL database.
REDIS_URL = f"{REDIS_URL.partition('?')[0]}?db={int(os.environ.get('PYTEST_XDIST_WORKER', 'gw0')[2:]) + 1}"
CELERY_BROKER_URL = kombu_url(REDIS_URL)
# Pools keep connections that would block the dropping of a test database.
DATABASES["default"]["OPTIONS"].pop("pool")
MANAGEMENT_RATE_PER_SECOND = 0.0
REFUSALS_PER_MINUTE = 0.0
