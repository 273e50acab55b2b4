"""Dead letters: found by cause, consumer, words or time, each with its story, and what can be done about it."""

from copy import copy
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import flatten
from django.contrib.admin.views.main import PAGE_VAR
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.http import urlencode
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from channels_app.admin import navigation, payloads, timeline
from channels_app.admin.channels import LISTS_OF_CHANNEL
from channels_app.admin.endless import EndlessList
from channels_app.admin.filters import ChannelFilter
from channels_app.admin.links import address, link, listed
from channels_app.admin.messages import HEAD, SIZE, rows_with_id
from channels_app.admin.pages import Act
from channels_app.models import Channel, Consumer, DeliveryJob, Message
from channels_app.reasons import ADVICE, Reason
from dlq_app.admin import asking, deeds, story
from dlq_app.admin.acting_pages import ActingAdmin
from dlq_app.admin.editing import difference
from dlq_app.admin.overview_page import OVERVIEW, overview_view
from dlq_app.filters import words_asked
from dlq_app.models import DeadLetter, DeadLetterPolicy

SHOWN_ERROR = 160
MOST_FOUND = 1_000

navigation.GROUPS["Dead letters"] += [
    OVERVIEW,
    (DeadLetter, "mark_email_unread"),
    (DeadLetterPolicy, "policy"),
]
LISTS_OF_CHANNEL.append((DeadLetter, "mark_email_unread"))


class LetterList(EndlessList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.show_admin_actions = True

    def url_for_result(self, result: DeadLetter) -> str:
        return deeds.page_of(result)


@admin.register(DeadLetter)
class DeadLetterAdmin(ActingAdmin):
    list_display = ("entered", "channel_link", "consumer_link", "why", "short_error", "attempts", "times_dead")
    list_filter = (
        ("channel", ChannelFilter),
        ("consumer", ChannelFilter),
        ("reason", ChoicesDropdownFilter),
        asking.CauseFilter,
        asking.AgeFilter,
        ("entered_at", asking.EnteredFilter),
    )
    lookups = asking.LOOKUPS
    search_fields = ("job_id",)
    search_help_text = "Words of the error; or a job's number or a message id, whole"
    fields = (
        ("job_link", "message_link"),
        ("channel_link", "consumer_link"),
        ("producer_link", "why"),
        ("attempts", "times_dead"),
        ("entered_at", "resolution"),
    )
    readonly_fields = tuple(flatten(fields))
    list_before_template = "channels_app/admin/acts.html"
    change_form_outer_before_template = "dlq_app/admin/why.html"
    change_form_outer_after_template = "dlq_app/admin/letter.html"

    class Media:
        css = {"all": ("channels_app/timeline.css", "dlq_app/letters.css")}

    def get_urls(self) -> list[Any]:
        page = self.admin_site.admin_view(overview_view)
        return [path("overview/", page, name="dlq_app_deadletter_overview"), *super().get_urls()]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[EndlessList]:
        return LetterList

    def get_queryset(self, request: HttpRequest) -> QuerySet[DeadLetter]:
        """The open ones. Names come in queries of their own: no join tempts the planner away from an index."""
        return _named(DeadLetter.objects.open())

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> DeadLetter | None:
        """By its job, resolved ones too: an address stays right, whatever becomes of a letter."""
        if not asking.is_number(object_id):
            return None
        messages = Message.objects.annotate(bytes=SIZE).select_related("producer").defer("payload", "producer__token")
        # The message sent instead may have been pruned: then it is none.
        letters = _named(DeadLetter.objects.all()).select_related("edited_message")
        letters = letters.prefetch_related(Prefetch("message", messages))
        return letters.filter(job_id=int(object_id)).first()

    def must_look_at_each(self, rows: EndlessList) -> bool:
        """Each has an index, two together have none: a channel is its consumer's, a reason its cause's.

        That of words knows no order: a word that few letters have would be looked for among all of them.
        """
        asked = rows.params
        whose = asked.get(asking.CONSUMER) or asked.get(asking.CHANNEL)
        why = asked.get(asking.CAUSE) or asked.get(asking.REASON)
        return bool(rows.query) or bool(whose and why)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        wanted = search_term.strip()
        if not wanted:
            return queryset, False
        found = Q(words=words_asked(wanted))
        jobs = _jobs_named(wanted)
        return queryset.filter(found | Q(job_id__in=jobs) if jobs else found), False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        acts = {"acts": self._acts_on_all(request)} if request.method == "GET" else {}
        return super().changelist_view(request, {**acts, **(extra_context or {})})

    def _acts_on_all(self, request: HttpRequest) -> list[Act]:
        """On all that match, and on all of the consumer that is asked for."""
        asked = {name: str(value) for name, value in request.GET.items() if value and name != PAGE_VAR}
        acts = [Act("Overview", "monitoring", reverse("admin:dlq_app_deadletter_overview"))]
        by_id = asking.WORDS in asked and _jobs_named(asked[asking.WORDS].strip())
        if self.has_act_permission(request) and not by_id and asking.meant(asked, timezone.now()):
            url = f"{reverse('admin:dlq_app_deadletter_redrive')}?{urlencode(asked)}"
            acts.append(Act("Requeue all that match" if asked else "Requeue all", "replay", url, posts=True))
        consumer = asked.get(asking.CONSUMER, "")
        if self.has_clear_permission(request) and asking.is_number(consumer):
            url = reverse("admin:dlq_app_deadletter_clear")
            acts.append(Act("Clear this consumer", "delete_sweep", url, posts=True, fields={"consumer": [consumer]}))
        return acts

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        letter = kwargs["obj"]
        job = timeline.told(DeliveryJob.objects.all()).get(pk=letter.job_id)
        shown = {
            "acts": self._acts_on_one(request, letter),
            "engine": story.standing(letter),
            "moments": [*timeline.beginning(letter.message), *timeline.story(job, letter.message.received_at).moments],
            "history": list(story.history(letter.job.letter_acts.order_by("pk"))),
            "sent": letter.message,
            "payload": _payload(letter.message),
            "advice": ADVICE.get(Reason(letter.reason), ""),
            "difference": difference(letter.message, letter.edited_message) if letter.edited_message else "",
        }
        # Links of the page are made by its key, and the key of a letter's page is its job.
        original = copy(letter)
        original.pk = letter.job_id
        return super().render_change_form(request, {**context, **shown, "original": original}, *args, **kwargs)

    def _acts_on_one(self, request: HttpRequest, letter: DeadLetter) -> list[Act]:
        links = [Act("All of this cause", "fingerprint", listed(DeadLetter, **{asking.CAUSE: letter.fingerprint}))]
        links.append(Act(f"Consumer {letter.consumer}", "cell_tower", address(letter.consumer)))
        if letter.edited_message:
            links.append(Act("Message sent instead", "mail", address(letter.edited_message)))
        if letter.resolution or not self.has_act_permission(request):
            return links
        edit = reverse("admin:dlq_app_deadletter_edit", args=[letter.job_id])
        return [*links, *(deeds.button(letter, deed) for deed in deeds.DEEDS), Act("Edit and resend", "edit", edit)]

    @admin.display(description="entered")
    def entered(self, letter: DeadLetter) -> Any:
        return letter.entered_at

    @admin.display(description="job")
    def job_link(self, letter: DeadLetter) -> str:
        return link(letter.job)

    @admin.display(description="message")
    def message_link(self, letter: DeadLetter) -> str:
        return link(letter.message)

    @admin.display(description="channel")
    def channel_link(self, letter: DeadLetter) -> str:
        return link(letter.channel)

    @admin.display(description="consumer")
    def consumer_link(self, letter: DeadLetter) -> str:
        return link(letter.consumer)

    @admin.display(description="producer")
    def producer_link(self, letter: DeadLetter) -> str:
        return link(letter.message.producer)

    @display(description="reason", label=True)  # type: ignore[untyped-decorator]
    def why(self, letter: DeadLetter) -> str:
        return letter.reason

    @admin.display(description="times dead")
    def times_dead(self, letter: DeadLetter) -> int:
        return letter.times

    @admin.display(description="error")
    def short_error(self, letter: DeadLetter) -> str:
        return asking.cut(letter.error, SHOWN_ERROR)


def _named(letters: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
    names = (
        Prefetch(name, model.objects.only("public_id"))
        for name, model in (("channel", Channel), ("consumer", Consumer))
    )
    return letters.defer("words").prefetch_related(*names)


def _jobs_named(wanted: str) -> list[int]:
    """The jobs of the messages with this id, and the job with this number if it has a letter."""
    jobs = Q(message__in=rows_with_id(wanted))
    if asking.is_number(wanted):
        jobs |= Q(pk=int(wanted))
    return list(DeliveryJob.objects.filter(jobs, letter__isnull=False).values_list("pk", flat=True)[:MOST_FOUND])


def _payload(message: Any) -> payloads.Shown:
    head = Message.objects.filter(pk=message.pk).values_list(HEAD, flat=True).first()
    return payloads.show(bytes(head or b""), size=message.bytes)
