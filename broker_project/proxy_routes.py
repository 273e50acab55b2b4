"""Who answers what, for the proxy: `python -m broker_project.proxy_routes > deploy/proxy/doors.conf`.

Made from the frame's own routes and limits, so run it again where MAX_PAYLOAD_BYTES or MAX_BATCH_BYTES are changed.
"""

import os
import re

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "broker_project.settings.development")

from broker_project.api.frame import Route
from broker_project.asgi import DOORS

HEADING = """\
# Made by `python -m broker_project.proxy_routes`: what the doors answer. All else is Django's.
"""
# A little more than the door takes: it says no in its own words.
ROOM_BYTES = 64 * 1024
# Larger bodies are not kept for the door, which knows from their head whether it wants them.
LARGE_BYTES = 4 * 1024 * 1024


def table(routes: tuple[Route, ...]) -> str:
    return HEADING + "".join(_location(route) for route in routes)


def _location(route: Route) -> str:
    lines = [
        f"client_max_body_size {route.max_bytes + ROOM_BYTES};",
        *(["proxy_request_buffering off;"] if route.max_bytes > LARGE_BYTES else []),
        # Other methods of a shared address are Django's.
        f"proxy_pass http://{'$posts_to_doors' if route.shared else 'doors'};",
    ]
    return f'location ~ "^{_pattern(route)}\\z" {{ {" ".join(lines)} }}\n'


def _pattern(route: Route) -> str:
    """Groups lose their names: nginx would make variables of them."""
    return re.sub(r"\((?:\?P<\w+>|(?!\?))", "(?:", route.path.pattern)


if __name__ == "__main__":
    print(table(DOORS), end="")
