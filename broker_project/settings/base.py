"""Django itself: apps, middleware, database, static files. No knob of ours is here."""

import dj_database_url

from .broker import WEB_THREADS
from .environment import DATA_DIR, from_environment

INSTALLED_APPS = [
    "unfold",
    "unfold.contrib.filters",
    # Its pages are loaded with the addresses, by whoever serves them: no worker needs them.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_celery_beat",
    "channels_app",
    "scheduling_app",
    "dlq_app",
    "reports_app",
    "watch_app",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "broker_project.api.middleware.RefusalMiddleware",
]

ROOT_URLCONF = "broker_project.urls"
# /channel/x/ is another address than /channel/x: a redirect would lose a body.
APPEND_SLASH = False
CSRF_FAILURE_VIEW = "broker_project.api.problems.csrf_failure"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# The database that holds the truth, as a URL. `./broker up` sets it to the embedded PostgreSQL.
DATABASE_URL = from_environment("DATABASE_URL", "postgresql://broker@localhost/broker")

# A query, a lock or an idle transaction past these limits is ended by PostgreSQL: no request hangs.
# Compiling a plan never pays for statements of milliseconds.
SESSION_LIMITS = "-c statement_timeout=15s -c lock_timeout=5s -c idle_in_transaction_session_timeout=30s -c jit=off"

DATABASES = {"default": dj_database_url.parse(DATABASE_URL, conn_health_checks=True)}
DATABASES["default"].setdefault("OPTIONS", {}).update(
    # One connection a thread, and two to spare.
    pool={"min_size": 1, "max_size": WEB_THREADS + 2, "timeout": 5},
    options=SESSION_LIMITS,
    connect_timeout=5,
)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
