"""The pages that ask before staff act on letters: on those chosen, on all that match, on all of a consumer."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_POST

from channels_app.admin.endless import EndlessListAdmin
from channels_app.admin.engine import FROM_PAGE
from channels_app.admin.links import address, listed
from channels_app.admin.pages import Question
from channels_app.models import Consumer
from dlq_app import overview
from dlq_app.admin import acting, deeds
from dlq_app.admin.asking import CONSUMER, meant
from dlq_app.admin.redriving import how_many, start_redrive
from dlq_app.filters import LetterFilter
from dlq_app.models import DeadLetter

MOST_AT_ONCE = 100
SAMPLED = 5
GONE = "None of them is open any more. Nothing was done."
UNCLEAR = "This filter cannot be understood. Nothing was done."


class ActingAdmin(EndlessListAdmin):
    """Rows are looked at, not edited: each act is asked for first, and audited."""

    actions = ("requeue", "discard")

    def has_act_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("dlq_app.act_on_deadletter")

    def has_clear_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("dlq_app.clear_deadletter")

    def get_urls(self) -> list[Any]:
        own = [
            path("redrive/", self.admin_site.admin_view(self.redrive_view), name="dlq_app_deadletter_redrive"),
            path("clear/", self.admin_site.admin_view(self.clear_view), name="dlq_app_deadletter_clear"),
        ]
        return [*own, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """A list takes nothing but acts."""
        if request.method == "POST" and not self.has_act_permission(request):
            raise PermissionDenied
        return super().changelist_view(request, extra_context)

    @admin.action(description="Requeue the selected", permissions=["act"])
    def requeue(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        return self._act(request, queryset, deeds.REQUEUE)

    @admin.action(description="Discard the selected", permissions=["act"])
    def discard(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        return self._act(request, queryset, deeds.DISCARD)

    def _act(self, request: HttpRequest, queryset: Any, deed: deeds.Deed) -> HttpResponse | None:
        letters = list(queryset[: MOST_AT_ONCE + 1])
        if not letters or len(letters) > MOST_AT_ONCE:
            told = GONE if not letters else f"No more than {MOST_AT_ONCE} at once, please. Nothing was done."
            self.message_user(request, told, messages.WARNING)
            return None
        form = deeds.NoteForm(request.POST if "confirmed" in request.POST else None)
        if not form.is_valid():
            return self.ask(request, deeds.question(letters, deed, request.POST), form)
        self._perform(request, letters, deed, form.cleaned_data["note"])
        return redirect(deeds.page_of(letters[0])) if FROM_PAGE in request.POST else None

    def _perform(self, request: HttpRequest, letters: list[DeadLetter], deed: deeds.Deed, note: str) -> None:
        """The act and its audit together, or neither."""
        chosen = DeadLetter.objects.filter(pk__in=[letter.pk for letter in letters])
        with transaction.atomic():
            deed.do(chosen, by=request.user.get_username(), note=note)
            moved = list(chosen.filter(resolution=deed.resolution).only("job_id"))
            self._note(request, moved, f"{deed.noted}: {note}" if note else deed.noted)
        if moved:
            self.message_user(request, f"{deed.noted}: {deeds.how_many(len(moved))}.", messages.SUCCESS)
        if len(moved) < len(letters):
            self.message_user(request, _left(len(letters) - len(moved)), messages.WARNING)

    def _note(self, request: HttpRequest, letters: list[DeadLetter], message: str) -> None:
        """By job, as their pages are."""
        about = {"user_id": request.user.pk, "content_type": ContentType.objects.get_for_model(DeadLetter)}
        LogEntry.objects.bulk_create(
            LogEntry(
                **about, object_id=letter.job_id, object_repr=str(letter), action_flag=CHANGE, change_message=message
            )
            for letter in letters
        )

    @method_decorator(require_POST)
    def redrive_view(self, request: HttpRequest) -> HttpResponse:
        if not self.has_act_permission(request):
            raise PermissionDenied
        asked = meant(request.GET, timezone.now())
        if asked is None:
            self.message_user(request, UNCLEAR, messages.ERROR)
            return redirect(listed(DeadLetter))
        form = deeds.RedriveForm(request.POST if "confirmed" in request.POST else None)
        if not form.is_valid():
            return self._ask_to_redrive(request, asked, form)
        return self._redrive(request, asked, form.cleaned_data)

    def _ask_to_redrive(self, request: HttpRequest, asked: LetterFilter, form: deeds.RedriveForm) -> TemplateResponse:
        count = how_many(asked)
        title = f"Requeue all that match: {count}?"
        asking = Question(title, deeds.REQUEUE.text, f"Yes, requeue {count}", {"confirmed": ["yes"]})
        return self.ask(request, asking, form, asked.letters().order_by("-pk").defer("words")[:SAMPLED])

    def _redrive(self, request: HttpRequest, asked: LetterFilter, told: dict[str, Any]) -> HttpResponse:
        with transaction.atomic():
            by = request.user.get_username()
            operation = start_redrive(asked, by=by, note=told["note"], rate=told["rate"])
            self.log_change(request, operation, f"Started: {operation.kind}")
        self.message_user(request, f"Started: operation {operation}.", messages.SUCCESS)
        seen = request.user.has_perm("channels_app.view_operation")
        return redirect(address(operation) if seen else listed(DeadLetter))

    @method_decorator(require_POST)
    def clear_view(self, request: HttpRequest) -> HttpResponse:
        if not self.has_clear_permission(request):
            raise PermissionDenied
        asked = request.POST.get("consumer", "")
        known = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 19 else 0
        consumer = get_object_or_404(Consumer.objects.only("public_id"), pk=known)
        form = deeds.NoteForm(request.POST if "confirmed" in request.POST else None)
        if form.is_valid():
            return self._clear(request, consumer, form.cleaned_data["note"])
        count = overview.counted(LetterFilter(consumer_id=consumer.pk))
        title = f"Clear {consumer}: discard all its {deeds.how_many(count)}?"
        fields: dict[str, list[Any]] = {"consumer": [consumer.pk], "confirmed": ["yes"]}
        return self.ask(request, Question(title, deeds.DISCARD.text, f"Yes, discard {count:,}", fields), form)

    def _clear(self, request: HttpRequest, consumer: Consumer, note: str) -> HttpResponse:
        with transaction.atomic():
            cleared = acting.clear(consumer_id=consumer.pk, by=request.user.get_username(), note=note)
            told = f"Cleared: {deeds.how_many(cleared)} discarded"
            self.log_change(request, consumer, f"{told}: {note}" if note else told)
        self.message_user(request, f"{told}.", messages.SUCCESS)
        return redirect(listed(DeadLetter, **{CONSUMER: consumer.pk}))

    def ask(self, request: HttpRequest, asking: Question, form: deeds.NoteForm, sample: Any = ()) -> TemplateResponse:
        frame = {**self.admin_site.each_context(request), "opts": self.opts, "title": asking.title}
        return TemplateResponse(
            request, "dlq_app/admin/act.html", {**frame, "question": asking, "form": form, "sample": sample}
        )


def _left(count: int) -> str:
    return (
        f"Left as they were: {count:,}. They are not open any more, or cannot be sent: the message was expunged, its"
        " consumer or channel is gone, it was queued again too often, or its consumer polls by index."
    )
