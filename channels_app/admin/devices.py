"""What a consumer has and has not acknowledged, on its page; and what a device has that died is taken back."""

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.timesince import timesince
from django.views.decorators.http import require_POST

from channels_app import services
from channels_app.admin.engine import EngineAdmin
from channels_app.admin.links import address, listed
from channels_app.admin.pages import Question, ask
from channels_app.admin.states import written
from channels_app.models import Consumer, DeliveryJob, JobStatus
from channels_app.models.consumer import PullMode
from channels_app.pull import devices
from channels_app.pull.devices import Device, Unacked


class DevicesAdmin(EngineAdmin):
    change_form_outer_before_template = "channels_app/admin/consumer.html"

    class Media:
        css = {"all": ("channels_app/devices.css",)}

    def get_urls(self) -> list[URLPattern]:
        """Answers to POST only: a link or an image cannot trigger it."""
        view = self.admin_site.admin_view(require_POST(self.release_device))
        return [path("<int:pk>/release_device/", view, name=self._url_name("release_device")), *super().get_urls()]

    def release_device(self, request: HttpRequest, pk: int) -> HttpResponse:
        row: Any = self._row(request, pk)
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        device_id = request.POST.get("device", "").replace("\x00", "")
        count = devices.count_held(row.pk, device_id)
        if count and "confirmed" not in request.POST:
            return ask(request, self, _question(row, device_id, count))
        released = self._release(request, row, device_id) if count else 0
        if released:
            self.message_user(request, f"Released {_jobs(released)} of device {device_id}.", messages.SUCCESS)
        else:
            told = f"Device {device_id} has no job of this consumer: nothing was done."
            self.message_user(request, told, messages.WARNING)
        return redirect(address(row))

    def _release(self, request: HttpRequest, row: Consumer, device_id: str) -> int:
        """The act and its audit together, or neither."""
        with transaction.atomic():
            released = services.release_device(row, device_id)
            if released:
                self.log_change(request, row, f"Released {_jobs(released)} of device {device_id}")
        return released

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        row = kwargs.get("obj")
        if row and row.acknowledges and not row.deleted_at:
            context = {**context, **self._held(request, row)}
        return super().render_change_form(request, context, *args, **kwargs)

    def _held(self, request: HttpRequest, row: Consumer) -> dict[str, Any]:
        now, held = timezone.now(), devices.unacked(row.pk)
        may_look = request.user.has_perm("channels_app.view_deliveryjob")
        # What was polled by index stays where its index is.
        may_release = row.acknowledges_by != PullMode.INDEX and self.has_change_permission(request, row)
        return {
            "held_facts": _facts(row, held, now),
            "held": held,
            "devices": [_shown(row, one, now, may_look=may_look) for one in held.devices] if held else [],
            "release_url": self._url("release_device", row) if may_release else "",
        }


def _facts(row: Consumer, held: Unacked | None, now: datetime) -> list[str]:
    facts = []
    if row.acknowledges_by == PullMode.INDEX:
        state, last = row.state, row.channel.state.last_sequence
        facts.append(
            f"Acknowledged up to index {state.acked_index:,}, handed out up to {state.sent_index:,}; "
            f"the last of the channel is {last:,}."
        )
    if held is None:
        return [*facts, "Nothing waits for its acknowledgement."]
    facts.append(f"Not acknowledged: {_jobs(held.count)}, the oldest received on {_since(held.oldest_at, now)}.")
    return [*facts, f"Retries of these so far: {held.failures:.1f} a job on average."]


def _shown(row: Consumer, device: Device, now: datetime, *, may_look: bool) -> dict[str, Any]:
    asked = {"consumer__id__exact": row.pk, "status__exact": JobStatus.INFLIGHT.value, "device": device.device_id}
    return {
        "id": device.device_id,
        "jobs": _jobs(device.count),
        "oldest": f"the oldest since {_since(device.oldest_at, now)}",
        "url": listed(DeliveryJob, **asked) if may_look and device.device_id else "",
    }


def _question(row: Consumer, device_id: str, count: int) -> Question:
    title = f"Release what device {device_id} has of {row}?"
    text = (
        f"It has {_jobs(count)} now. Each goes back to the queue at once, for somebody else to take, and counts no "
        "failure. If the device is alive after all, what it still says of them changes nothing."
    )
    return Question(title, text, f"Yes, release {_jobs(count)}", {"device": [device_id], "confirmed": ["yes"]})


def _jobs(count: int) -> str:
    return f"{count:,} job" if count == 1 else f"{count:,} jobs"


def _since(at: datetime, now: datetime) -> str:
    seconds = max(0.0, (now - at).total_seconds())
    return f"{written(at)} ({f'{seconds:.0f} s' if seconds < 60 else timesince(at, now)} ago)"
