"""A refusal of the broker's own in Dapr's shape: by the name of what was asked for."""

import pytest

from broker_project.api.exceptions import StorageAway
from broker_project.lib.errors import BrokerError
from scheduling_app.dapr.errors import DaprError, DoorFailed, PublishFailed, as_dapr
from scheduling_app.dapr.job_errors import DeleteJobError, GetJobError, JobError, JobNotFound


class WrongMethod(BrokerError):
    """Not so."""

    status = 405


class NotSigned(BrokerError):
    """Who is that?"""

    status = 401


@pytest.mark.parametrize(
    ("family", "code"),
    [
        (PublishFailed, "ERR_PUBSUB_PUBLISH_MESSAGE"),
        (JobError, "DAPR_SCHEDULER_SCHEDULE_JOB"),
        (GetJobError, "DAPR_SCHEDULER_GET_JOB"),
        (DeleteJobError, "DAPR_SCHEDULER_DELETE_JOB"),
        (DoorFailed, "ERR_INTERNAL"),
    ],
)
def test_a_failure_is_told_by_the_name_of_what_was_asked_for(family: type[DaprError], code: str) -> None:
    told = as_dapr(StorageAway(), family)
    assert (told.error_code, told.status, told.grpc_code) == (code, 503, "UNAVAILABLE")
    assert (told.detail, told.metadata) == (StorageAway().detail, {"code": "storage_away"})


@pytest.mark.parametrize(
    ("error", "code"), [(WrongMethod(), "ERR_MALFORMED_REQUEST"), (NotSigned(), "ERR_UNAUTHENTICATED")]
)
def test_what_is_wrong_with_the_request_as_such_is_told_the_same_everywhere(error: BrokerError, code: str) -> None:
    assert [as_dapr(error, family).error_code for family in (PublishFailed, JobError)] == [code, code]
    assert as_dapr(error).status == error.status


def test_an_error_of_daprs_own_stays_as_it_is() -> None:
    error = JobNotFound()
    assert as_dapr(error, PublishFailed) is error
