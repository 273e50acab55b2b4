"""What Dapr's clients get back: 204, or its JSON of an error."""

import json
from collections.abc import Sequence

from broker_project.api.reply import Reply, retry_after
from broker_project.lib.errors import BrokerError
from scheduling_app.dapr.bulk import Failed
from scheduling_app.dapr.errors import DaprError, DoorFailed, PublishFailed, as_dapr

DONE = Reply(204, b"")


def refusal(error: BrokerError, family: type[DaprError] = PublishFailed) -> Reply:
    told = as_dapr(error, family)
    return Reply(told.status, json.dumps(told.as_json()).encode(), headers=retry_after(told))


def door_refusal(error: BrokerError) -> Reply:
    """Where nothing is published."""
    return refusal(error, DoorFailed)


def outcome(failed: Sequence[Failed]) -> Reply:
    """500 by Dapr's own definition: some entries were stored, these were not."""
    if not failed:
        return DONE
    entries = [{"entryId": one.entry_id, "error": one.error} for one in failed]
    return Reply(500, json.dumps({"failedEntries": entries, "errorCode": PublishFailed.error_code}).encode())
