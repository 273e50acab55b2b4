"""A message's whole life on one page, which looks again by itself until it is over; and its payload as a file."""

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import content_disposition_header, urlencode
from django.views.decorators.http import require_safe

from channels_app.admin import payloads
from channels_app.admin.links import address
from channels_app.admin.messages import ACTS_OF_MESSAGE
from channels_app.admin.pages import Act
from channels_app.admin.timeline import Moment
from channels_app.errors import MessagePruned
from channels_app.models import Message
from channels_app.models.consumer import PullMode
from watch_app.admin.addresses import add_page
from watch_app.admin.explorer import EXPLORER, SEND, VIEW, allow, framed, life_address
from watch_app.explorer.life import Lane, Life, life_for_later, life_of, waits
from watch_app.explorer.picture import NARROW, picture
from watch_app.explorer.requests import Content, Sent, file_name, is_for_a_command, publish_again, sent
from watch_app.explorer.rows import Row, find, head, is_expunged, payload, size
from watch_app.explorer.sending import MARK

ACTS_OF_MESSAGE.append(lambda row: Act("Whole life", "timeline", life_address(row.channel.public_id, row.message_id)))

SEE_LATER, SEE_LETTERS = "scheduling_app.view_scheduledmessage", "dlq_app.view_deadletter"
SEE_SECRETS = "channels_app.reveal_token"
# Nothing in a file can act as the member of staff who opens it.
SAFE = {"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff"}


@dataclass(frozen=True)
class Told:
    """A line of a lane: what happened; of a try also how long it had waited, and the request."""

    moment: Moment
    waited: str = ""
    request: Sent | None = None


@dataclass(frozen=True)
class Teller:
    """What all lanes of a page have in common."""

    row: Row
    content: Content
    whole_url: bool
    may_send: bool

    def lane(self, lane: Lane) -> dict[str, Any]:
        waited = waits(lane.attempts)
        told = [self._line(lane, moment, waited) for moment in lane.moments]
        return {"lane": lane, "told": told, "test_url": self._test_url(lane)}

    def _test_url(self, lane: Lane) -> str:
        """A test message for this consumer alone, where it can get one."""
        consumer = lane.job.consumer if lane.job else None
        if not self.may_send or consumer is None or consumer.deleted_at or consumer.acknowledges_by == PullMode.INDEX:
            return ""
        return sending_address(self.row, consumer=consumer.public_id)

    def _line(self, lane: Lane, moment: Moment, waited: dict[int, str]) -> Told:
        if moment.attempt is None:
            return Told(moment)
        return Told(moment, waited.get(moment.attempt.pk, ""), self._request(lane, moment))

    def _request(self, lane: Lane, moment: Moment) -> Sent | None:
        if not lane.is_pushed or lane.job is None or moment.attempt is None or not isinstance(self.row, Message):
            return None
        return sent(moment.attempt, lane.job, self.row, self.content, whole_url=self.whole_url)


@require_safe
def life_view(request: HttpRequest, channel: str, message_id: str) -> HttpResponse:
    allow(request, VIEW)
    try:
        row = _found(request, channel, message_id)
    except MessagePruned as refusal:
        lake = refusal.members.get("lake")
        return framed(request, "pruned", status=410, title=message_id, refusal=refusal, lake=lake)
    shown = _shown(request, row)
    if "part" in request.GET:
        return framed(request, "life_part", **shown)
    return framed(request, "life", title=message_id, acts=_acts(request, row), **shown)


@require_safe
def payload_view(request: HttpRequest, channel: str, message_id: str) -> HttpResponse:
    allow(request, VIEW)
    try:
        row = _found(request, channel, message_id)
    except MessagePruned as refusal:
        raise Http404(refusal.detail) from refusal
    file = HttpResponse(payload(row), content_type="application/octet-stream", headers=SAFE)
    file["Content-Disposition"] = content_disposition_header(True, file_name(message_id)) or "attachment"
    return file


def _found(request: HttpRequest, channel: str, message_id: str) -> Row:
    """One for later is for those who may see such, and so is what is known of one that was pruned."""
    try:
        row = find(channel, message_id)
    except MessagePruned as refusal:
        if refusal.was_for_later:
            allow(request, SEE_LATER)
        raise
    if row is None:
        raise Http404
    if not isinstance(row, Message):
        allow(request, SEE_LATER)
    return row


def _shown(request: HttpRequest, row: Row) -> dict[str, Any]:
    now, life, first = timezone.now(), _life(request, row), head(row)
    content = Content(first if is_for_a_command(size(row)) else None, size(row), file_name(row.message_id))
    teller = Teller(row, content, request.user.has_perm(SEE_SECRETS), request.user.has_perm(SEND))
    return {
        "original": row,
        "life": life,
        "picture": picture(life, now),
        "narrow_picture": picture(life, now, NARROW),
        "now": now,
        "lanes": [teller.lane(lane) for lane in life.lanes],
        "payload": payloads.show(first, size=size(row)),
        "payload_url": reverse("admin:watch_explorer_payload", args=[row.channel.public_id, row.message_id]),
        "publish": "" if is_expunged(row) else publish_again(row, content),
        "content": content,
        "is_test": MARK.items() <= row.headers.items(),
    }


def _life(request: HttpRequest, row: Row) -> Life:
    if isinstance(row, Message):
        return life_of(row, with_letters=request.user.has_perm(SEE_LETTERS))
    return life_for_later(row, timezone.now())


def _acts(request: HttpRequest, row: Row) -> list[Act]:
    """The row's own page, where staff act on it; and the ways out."""
    acts = [Act("Explorer", "travel_explore", reverse(EXPLORER))]
    if request.user.has_perm(f"{row._meta.app_label}.view_{row._meta.model_name}"):
        acts.append(Act("Message" if isinstance(row, Message) else "Message for later", "mail", address(row)))
    acts.append(Act(f"Channel {row.channel}", "hub", address(row.channel)))
    if request.user.has_perm(SEND) and row.channel.deleted_at is None:
        acts.append(Act("Send a test message", "send", sending_address(row)))
    return acts


def sending_address(row: Row, **more: str) -> str:
    """The form for a test message, filled in as far as this one tells."""
    asked = {"channel": row.channel.public_id, "producer": row.producer.public_id, **more}
    return f"{reverse('admin:watch_explorer_send')}?{urlencode(asked)}"


add_page("explorer/<str:channel>/<str:message_id>/", life_view, "watch_explorer_life")
add_page("explorer/<str:channel>/<str:message_id>/payload/", payload_view, "watch_explorer_payload")
