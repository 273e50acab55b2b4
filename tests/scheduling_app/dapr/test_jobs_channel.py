"""The channel of an application's jobs: one for each application and namespace, spelled in one way."""

import pytest

from channels_app.registry import Entry
from scheduling_app.dapr.caller import Caller
from scheduling_app.dapr.job_errors import JobsChannelTooLong
from scheduling_app.dapr.jobs import jobs_channel_id


def channel_of(app_id: str, namespace: str = "") -> str:
    return jobs_channel_id(Caller(app_id, namespace, Entry(1, "token")))


def test_it_is_named_after_the_application() -> None:
    assert channel_of("shop") == "shop-jobs"
    assert channel_of("shop~1") == "shop~7E1-jobs"


def test_an_application_in_a_namespace_is_no_other_application() -> None:
    assert channel_of("a", "b") == "a~2Fb-jobs"
    assert len({channel_of("a", "b"), channel_of("ab"), channel_of("a~2Fb"), channel_of("a", "b-jobs")}) == 4


def test_names_that_are_too_long_together_are_refused() -> None:
    assert len(channel_of("a" * 250)) == 255
    with pytest.raises(JobsChannelTooLong):
        channel_of("a" * 251)
    with pytest.raises(JobsChannelTooLong):
        channel_of("a" * 130, "b" * 130)
