"""Dapr's jobs over HTTP: POST, GET and DELETE /v1.0/jobs/{name}, and the same under /v1.0-alpha1."""

import re

from django.conf import settings

from broker_project.api.express import Pending, Plain
from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from scheduling_app.api.dapr import reply
from scheduling_app.api.dapr.head import caller_behind, head_of, known_caller
from scheduling_app.api.dapr.job_document import read_job, show_job
from scheduling_app.dapr import jobs
from scheduling_app.dapr.errors import as_dapr
from scheduling_app.dapr.job_errors import DeleteJobError, GetJobError, JobError

PATH = re.compile(r"/v1\.0(?:-alpha1)?/jobs/(.*)", re.DOTALL)
_FAMILIES: dict[str, type[JobError]] = {"POST": JobError, "GET": GetJobError, "DELETE": DeleteJobError}


async def answer(request: Request) -> Reply:
    try:
        return await _answered(request)
    except BrokerError as error:
        raise as_dapr(error, _FAMILIES[request.method]) from error


async def _answered(request: Request) -> Reply:
    caller = await caller_behind(request, head_of(request.headers))
    name = _name(request.path)
    if request.method == "GET":
        return Reply(200, show_job(name, await jobs.get(caller, name)))
    if request.method == "DELETE":
        await jobs.delete(caller, name)
    else:
        await jobs.schedule(caller, name, read_job(request.body))
    return reply.DONE


def plain(request: Plain) -> Pending | None:
    """The short way in, for a job that runs once: caller and channel are known, nothing is limited."""
    if PATH.fullmatch(request.path) is None:
        return None
    caller = known_caller(head_of(request.headers))
    if caller is None:
        return None
    try:
        done = jobs.put_at_hand(caller, _name(request.path), read_job(request.body))
    except BrokerError:
        # The long way says why.
        return None
    return Pending(done, refusal=refusal) if done is not None else None


def refusal(error: BrokerError) -> Reply:
    """A limit, or a database that is away, is of this API too."""
    return reply.refusal(error, JobError)


def _name(path: str) -> str:
    return PATH.fullmatch(path)[1]  # type: ignore[index]


ROUTES = (
    Route(PATH, ("POST", "GET", "DELETE"), answer, max_bytes=settings.MAX_PAYLOAD_BYTES, quiet=True, refusal=refusal),
)
