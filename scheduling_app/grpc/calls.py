"""Dapr's calls, each with the act that answers it."""

from collections.abc import Mapping

from scheduling_app.grpc.jobs import delete_job, get_job, schedule_job
from scheduling_app.grpc.metadata import get_metadata
from scheduling_app.grpc.methods import Act
from scheduling_app.grpc.publishing import publish_event, publish_events

CALLS: Mapping[str, Act] = {
    "PublishEvent": publish_event,
    "BulkPublishEvent": publish_events,
    "BulkPublishEventAlpha1": publish_events,
    "ScheduleJob": schedule_job,
    "ScheduleJobAlpha1": schedule_job,
    "GetJob": get_job,
    "GetJobAlpha1": get_job,
    "DeleteJob": delete_job,
    "DeleteJobAlpha1": delete_job,
    "GetMetadata": get_metadata,
}
