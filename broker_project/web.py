"""Runs the web server: `python -m broker_project.web --port 8000`."""

import argparse
import os
import sys

import uvicorn
from django.conf import settings

from broker_project.api import server
from broker_project.api.protocol import GuardedProtocol


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "broker_project.settings.development")
    config = uvicorn.Config(
        "broker_project.asgi:application",
        host=options.host,
        port=options.port,
        http=GuardedProtocol,
        loop="uvloop",
        ws="none",
        lifespan="on",
        workers=settings.WEB_PROCESSES,
        # Logs are set up by Django's settings; the frame writes a line a request.
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=10,
        # A process on a busy machine may take long to start; five seconds and it would be killed, again and again.
        timeout_worker_healthcheck=60,
        # Longer than proxies and clients keep theirs: who hangs up first must be who knows that nothing is on its way.
        timeout_keep_alive=75,
        forwarded_allow_ips=settings.TRUSTED_PROXIES,
    )
    sys.exit(server.run(config))


if __name__ == "__main__":
    main()
