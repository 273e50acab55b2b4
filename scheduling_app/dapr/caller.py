"""Who speaks at Dapr's door: an application, and the producer that it is here."""

import hmac
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b

from django.conf import settings

from broker_project.lib.conditions import AlreadyExists, Condition
from broker_project.lib.patterns import PUBLIC_ID
from channels_app import services
from channels_app.api.keys import looked_up, note_use
from channels_app.known import in_thread
from channels_app.models import Producer
from channels_app.registry import Entry, registry
from scheduling_app.dapr.errors import DaprError, InvalidAppId, Unauthenticated

# The application that says no name, and has no producer of its own.
NAMELESS = "dapr"
DOOR = "dapr"
MAX_TOKEN = 1024
_SALT = os.urandom(32)
# Of an application that has stored nothing yet. No row has this id.
_NO_PRODUCER = Entry(0, "")


class AppIdForbidden(DaprError):
    """A producer's token speaks for the application of that name only: leave dapr-app-id out, or use an API key."""

    status = 403
    error_code = "ERR_APP_ID_FORBIDDEN"
    reason = "DAPR_APP_ID_FORBIDDEN"
    grpc_code = "PERMISSION_DENIED"


@dataclass(frozen=True)
class Caller:
    app_id: str
    namespace: str
    producer: Entry
    # Of the API key that opened the door, if it was one.
    key_id: int | None = None

    @property
    def has_stored(self) -> bool:
        """Whether its producer is there: one is made for the first thing that is stored."""
        return self.producer is not _NO_PRODUCER


async def caller_of(token: str, app_id: str, namespace: str) -> Caller:
    """The application behind a dapr-api-token: an API key stands for any, a producer's token for that producer."""
    for name in (app_id, namespace):
        if name and not PUBLIC_ID.fullmatch(name):
            raise InvalidAppId
    if len(token) > MAX_TOKEN:
        raise Unauthenticated
    key = _key(token, app_id, namespace)
    reliable, caller = registry().at_hand(*key)
    if not reliable:
        caller = await looked_up(lambda: registry().proven(*key, load=lambda: _found(token, app_id, namespace)))
    if caller is None:
        raise Unauthenticated
    return _noted(caller)


def caller_at_hand(token: str, app_id: str, namespace: str) -> Caller | None:
    """The same, of what this process knows; None if it would have to ask, or to refuse."""
    reliable, caller = registry().at_hand(*_key(token, app_id, namespace))
    return _noted(caller) if reliable and caller is not None else None


async def storing(caller: Caller) -> Caller:
    """Asked for just before something is stored: with a producer."""
    if caller.has_stored:
        return caller
    return replace(caller, producer=await in_thread(lambda: _producer_named(caller.app_id)))


async def looking(caller: Caller) -> Caller:
    """Asked for just before something stored is looked for: another process may have made its producer a moment ago."""
    if caller.has_stored:
        return caller
    row = await in_thread(lambda: Producer.objects.named(caller.app_id).first())
    return replace(caller, producer=Entry(row.pk, row.token)) if row else caller


def _noted(caller: Caller) -> Caller:
    if caller.key_id is not None:
        note_use(caller.key_id)
    return caller


def _key(token: str, app_id: str, namespace: str) -> tuple[str, bytes, str, str]:
    """No token is kept in memory for longer than its request, nor is one compared letter by letter."""
    return "dapr_caller", blake2b(token.encode("utf-8", "surrogatepass"), key=_SALT).digest(), app_id, namespace


def _found(token: str, app_id: str, namespace: str) -> Caller | None:
    """Asks the database. None: the token opens nothing."""
    is_open = DOOR in settings.OPEN_DOORS
    producer = _producer_with(token, app_id)
    if producer is not None and app_id in ("", producer.public_id):
        # The row is there; this process may still believe for a second that there is none.
        registry().refresh()
        entry = registry().producer(producer.public_id)
        return Caller(producer.public_id, namespace, entry) if entry else None
    if producer is not None and not is_open:
        raise AppIdForbidden
    key_id = registry().api_key(token) if token else None
    if key_id is None and not is_open:
        return None
    name = app_id or NAMELESS
    return Caller(name, namespace, registry().producer(name) or _NO_PRODUCER, key_id)


def _producer_with(token: str, app_id: str) -> Producer | None:
    """Of several with this token, the one that the application is called like."""
    if not token:
        return None
    # The digest finds, the token itself decides.
    found = Producer.objects.with_token(token)
    rows = [row for row in found if hmac.compare_digest(row.token.encode(), token.encode("utf-8", "surrogatepass"))]
    return next((row for row in rows if row.public_id == app_id), rows[0] if rows else None)


def _producer_named(app_id: str) -> Entry:
    """Made when missing; of those who look at the same time, by one."""
    with suppress(AlreadyExists):
        services.put(Producer(public_id=app_id), values={}, condition=Condition(only_new=True))
    # This process would go on believing for a second that there is none.
    registry().refresh()
    row = Producer.objects.named(app_id).get()
    return Entry(row.pk, row.token)
