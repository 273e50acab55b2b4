"""Recurring schedules over HTTP: parse, call one act or read, answer."""

import re

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from broker_project.api.conditions import condition_of, stamp
from broker_project.api.pagination import page
from broker_project.api.schema import CONDITIONAL_DELETE, PAGED, conditional_put
from broker_project.lib.errors import BrokerError
from channels_app.api.permissions import IsManager, OpensChannel
from channels_app.api.shapes import ListOut
from channels_app.api.who import who
from channels_app.selectors import get_channel
from scheduling_app import schedules
from scheduling_app.api.schedule_shapes import PauseIn, PreviewOut, ScheduleIn, ScheduleOut
from scheduling_app.models import RecurringSchedule

MOST_PREVIEWED = 100


class BadCount(BrokerError):
    """The count must be a whole number from 1 to 100."""


class SchedulesView(APIView):
    permission_classes = [OpensChannel]

    @extend_schema(operation_id="listSchedules", parameters=PAGED, responses=ListOut, tags=["schedules"])
    def get(self, request: Request, channel_id: str) -> Response:
        """The recurring schedules of a channel, newest first."""
        rows = RecurringSchedule.objects.live().filter(channel=get_channel(channel_id)).only("public_id")
        return Response(page(request, rows, lambda row: f"/channel/{channel_id}/schedule/{row.public_id}"))


class ScheduleView(APIView):
    model = RecurringSchedule
    permission_classes = [OpensChannel]

    @extend_schema(operation_id="getSchedule", responses=ScheduleOut, tags=["schedules"])
    def get(self, request: Request, channel_id: str, schedule_id: str) -> Response:
        """One recurring schedule."""
        return _show(schedules.get(get_channel(channel_id), schedule_id))

    @extend_schema(operation_id="putSchedule", request=ScheduleIn, tags=["schedules"], **conditional_put(ScheduleOut))
    def put(self, request: Request, channel_id: str, schedule_id: str) -> Response:
        """Create a recurring schedule, or change it."""
        channel = get_channel(channel_id)
        incoming = ScheduleIn(data=request.data)
        incoming.is_valid(raise_exception=True)
        row, created = schedules.put(
            channel=channel,
            public_id=schedule_id,
            values=incoming.validated_data,
            condition=condition_of(request),
        )
        return _show(row, 201 if created else 200)

    @extend_schema(operation_id="deleteSchedule", tags=["schedules"], **CONDITIONAL_DELETE)
    def delete(self, request: Request, channel_id: str, schedule_id: str) -> Response:
        """Delete a recurring schedule: it ticks no more; the messages that it made stay."""
        schedule = schedules.get(get_channel(channel_id), schedule_id)
        schedules.delete(schedule, condition=condition_of(request))
        return Response(status=204)


class PauseScheduleView(APIView):
    model = RecurringSchedule
    permission_classes = [IsManager]

    @extend_schema(operation_id="pauseSchedule", request=PauseIn, responses=ScheduleOut, tags=["schedules"])
    def post(self, request: Request, channel_id: str, schedule_id: str) -> Response:
        """Make no more ticks until it is resumed; then `missed` decides about those that were due."""
        incoming = PauseIn(data=request.data)
        incoming.is_valid(raise_exception=True)
        schedule = schedules.get(get_channel(channel_id), schedule_id)
        schedules.pause(schedule, by=who(request), note=incoming.validated_data.get("note") or "")
        return _show(schedule)


class ResumeScheduleView(APIView):
    model = RecurringSchedule
    permission_classes = [IsManager]

    @extend_schema(operation_id="resumeSchedule", request=None, responses=ScheduleOut, tags=["schedules"])
    def post(self, request: Request, channel_id: str, schedule_id: str) -> Response:
        """Tick again."""
        schedule = schedules.get(get_channel(channel_id), schedule_id)
        schedules.resume(schedule, by=who(request))
        return _show(schedule)


class PreviewScheduleView(APIView):
    permission_classes = [OpensChannel]

    @extend_schema(
        operation_id="previewSchedule",
        parameters=[
            OpenApiParameter(
                "count", {"type": "integer", "minimum": 1, "maximum": MOST_PREVIEWED}, description="10 if not given."
            )
        ],
        responses=PreviewOut,
        tags=["schedules"],
    )
    def get(self, request: Request, channel_id: str, schedule_id: str) -> Response:
        """The next ticks of a schedule, as if it were not paused."""
        count = _count(request)
        schedule = schedules.get(get_channel(channel_id), schedule_id)
        coming = [{"at": at, "localTime": at.isoformat()} for at in schedules.preview(schedule, count=count)]
        return Response(PreviewOut({"result": coming}).data)


def _count(request: Request) -> int:
    text = request.query_params.get("count", "10")
    if not re.fullmatch(r"[0-9]{1,3}", text) or not 1 <= int(text) <= MOST_PREVIEWED:
        raise BadCount
    return int(text)


def _show(schedule: RecurringSchedule, status: int = 200) -> Response:
    body = ScheduleOut(schedule).data
    return stamp(Response(body, status=status), changed_at=schedule.changed_at, etag=schedule.etag)
