"""The pages that ask before staff act on letters: on those chosen, on all that match, on all of a consumer."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
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

from broker_project.lib.errors import BrokerError
from channels_app.admin.endless import EndlessListAdmin
from channels_app.admin.engine import FROM_PAGE
from channels_app.admin.links import address, listed
from channels_app.admin.pages import Question
from channels_app.models import Consumer
from dlq_app import overview, redrive, services
from dlq_app.admin import acting, deeds
from dlq_app.admin.asking import CONSUMER, is_number, meant
from dlq_app.admin.editing import EditForm
from dlq_app.admin.redriving import asked_for, how_many
from dlq_app.errors import NothingToEdit
from dlq_app.filters import LetterFilter
from dlq_app.models import DeadLetter

MOST_AT_ONCE = 100
SAMPLED = 5
GONE = "None of them is open any more. Nothing was done."
UNCHANGED = "Nothing was changed: requeue it instead, or change something."
UNCLEAR = "This filter cannot be understood. Nothing was done."


class ActingAdmin(EndlessListAdmin):
    """Rows are looked at, not edited: each act is asked for first, and audited."""

    actions = ("requeue", "discard")

    def has_act_permission(self, request: HttpRequest) -> bool:
        """Whoever acts sees what on."""
        return request.user.has_perms(["dlq_app.view_deadletter", "dlq_app.act_on_deadletter"])

    def has_clear_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("dlq_app.clear_deadletter")

    def get_urls(self) -> list[Any]:
        own = [
            path("redrive/", self.admin_site.admin_view(self.redrive_view), name="dlq_app_deadletter_redrive"),
            path("clear/", self.admin_site.admin_view(self.clear_view), name="dlq_app_deadletter_clear"),
        ]
        edit = self.admin_site.admin_view(self.edit_view)
        return [*own, path("<int:job_id>/edit/", edit, name="dlq_app_deadletter_edit"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """A list takes nothing but acts."""
        if request.method == "POST" and not self.has_act_permission(request):
            raise PermissionDenied
        if not all(map(is_number, request.POST.getlist(ACTION_CHECKBOX_NAME))):
            self.message_user(request, GONE, messages.WARNING)
            return redirect(listed(DeadLetter))
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
            deed.do(letters, by=request.user.get_username(), note=note)
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
                **about,
                object_id=str(letter.job_id),
                object_repr=str(letter),
                action_flag=CHANGE,
                change_message=message,
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
        sample = asked.letters().order_by("-pk").defer("words")[:SAMPLED]
        return self.ask(request, asking, form, sample=sample, asked_for=asked_for(asked))

    def _redrive(self, request: HttpRequest, asked: LetterFilter, told: dict[str, Any]) -> HttpResponse:
        with transaction.atomic():
            by = request.user.get_username()
            operation = redrive.begin(
                chosen=asked, by=by, note=told["note"], per_second=told["rate"], asked=asked_for(asked)
            )
            self.log_change(request, operation, f"Started: {operation.kind}")
        self.message_user(request, f"Started: operation {operation}.", messages.SUCCESS)
        seen = request.user.has_perm("channels_app.view_operation")
        return redirect(address(operation) if seen else listed(DeadLetter))

    @method_decorator(require_POST)
    def clear_view(self, request: HttpRequest) -> HttpResponse:
        if not self.has_clear_permission(request):
            raise PermissionDenied
        asked = request.POST.get("consumer", "")
        known = int(asked) if is_number(asked) else 0
        consumer = get_object_or_404(Consumer.objects.only("public_id"), pk=known)
        form = deeds.NoteForm(request.POST if "confirmed" in request.POST else None)
        if form.is_valid():
            return self._clear(request, consumer, form.cleaned_data["note"])
        count = overview.counted(LetterFilter(consumer_id=consumer.pk))
        title = f"Clear {consumer}: discard all its {deeds.how_many(count)}?"
        fields: dict[str, list[Any]] = {"consumer": [consumer.pk], "confirmed": ["yes"]}
        return self.ask(request, Question(title, deeds.DISCARD.text, f"Yes, discard {count:,}", fields), form)

    def _clear(self, request: HttpRequest, consumer: Consumer, note: str) -> HttpResponse:
        """Batches are transactions of their own: what was done is noted, however far it came."""
        done = acting.clear(consumer_id=consumer.pk, by=request.user.get_username(), note=note)
        told = f"Cleared: {deeds.how_many(done.moved)} discarded"
        self.log_change(request, consumer, f"{told}: {note}" if note else told)
        more = "" if done.is_complete else " There are more: clear it once again."
        self.message_user(request, f"{told}.{more}", messages.SUCCESS)
        return redirect(listed(DeadLetter, **{CONSUMER: consumer.pk}))

    def edit_view(self, request: HttpRequest, job_id: int) -> HttpResponse:
        if not self.has_act_permission(request):
            raise PermissionDenied
        letter = self.get_object(request, str(job_id))
        if letter is None or letter.resolution:
            self.message_user(request, GONE, messages.WARNING)
            return redirect(deeds.page_of(letter) if letter else listed(DeadLetter))
        form = EditForm(letter.message, request.POST if request.method == "POST" else None)
        if form.is_valid() and self._edit(request, letter, form):
            return redirect(deeds.page_of(letter))
        return self.ask(request, _edit_question(letter), form, template="edit")

    def _edit(self, request: HttpRequest, letter: DeadLetter, form: EditForm) -> bool:
        note = form.cleaned_data["note"]
        try:
            with transaction.atomic():
                by = request.user.get_username()
                edited = services.edit_and_send(job=letter.job, content=form.content, by=by, note=note)
                told = f"Edited and sent again as {edited.message_id}"
                self._note(request, [letter], f"{told}: {note}" if note else told)
        except BrokerError as refusal:
            form.add_error(None, UNCHANGED if isinstance(refusal, NothingToEdit) else refusal.detail)
            return False
        self.message_user(request, f"{told}.", messages.SUCCESS)
        return True

    def ask(
        self, request: HttpRequest, asking: Question, form: deeds.NoteForm, template: str = "act", **more: Any
    ) -> TemplateResponse:
        frame = {**self.admin_site.each_context(request), "opts": self.opts, "title": asking.title}
        return TemplateResponse(
            request, f"dlq_app/admin/{template}.html", {**frame, "question": asking, "form": form, **more}
        )


def _edit_question(letter: DeadLetter) -> Question:
    text = "It goes as a new message, to this consumer only. The original stays as it is."
    return Question(f"Edit and resend {letter.message}", text, "Send it like this", {})


def _left(count: int) -> str:
    return (
        f"Left as they were: {count:,}. They are not open any more, or cannot be sent: the message was expunged, its"
        " consumer or channel is gone, it was queued again too often, or its consumer polls by index."
    )
