"""What this door says of itself: Dapr's metadata."""

from typing import NamedTuple

import broker_project
from channels_app.known import known_other
from scheduling_app.dapr.caller import Caller
from scheduling_app.models import Component

# What stands behind every component here.
COMPONENT_TYPE, COMPONENT_VERSION = "pubsub.broker", "v1"
BULK, DELAYED, TTL = "BULK_PUBSUB", "DELAYED_MESSAGING", "MESSAGE_TTL"


class Described(NamedTuple):
    """A component, and what it is capable of."""

    name: str
    capabilities: tuple[str, ...]


class About(NamedTuple):
    app_id: str
    version: str
    components: tuple[Described, ...]
    extended: dict[str, str]


async def about(caller: Caller) -> About:
    components = await known_other("dapr_components", load=_components)
    version = broker_project.__version__
    return About(caller.app_id, version, components, {"daprRuntimeVersion": version})


def _components() -> tuple[Described, ...]:
    rows = Component.objects.order_by("name").values_list("name", "enable_delayed_messaging")
    return tuple(Described(name, (BULK, TTL, DELAYED) if delays else (BULK, TTL)) for name, delays in rows)
