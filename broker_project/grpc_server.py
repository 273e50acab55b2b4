"""Runs the gRPC door, for Dapr's SDKs: `python -m broker_project.grpc_server --port 8003`."""

import argparse
import os

import django
import uvloop

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "broker_project.settings.development")
# Django first: what is imported below knows models.
django.setup()

from broker_project.lib.garbage import leave_what_is_loaded
from scheduling_app.grpc.server import Unsigned, serve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8003)
    options = parser.parse_args()
    leave_what_is_loaded()
    try:
        uvloop.run(serve(options.host, options.port))
    except Unsigned as refusal:
        parser.exit(1, f"{refusal}\n")


if __name__ == "__main__":
    main()
