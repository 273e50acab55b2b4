"""What Dapr's clients are told of jobs, by its scheduler's own names."""

from scheduling_app.dapr.errors import DaprError


class JobError(DaprError):
    """The job could not be scheduled."""

    error_code = reason = "DAPR_SCHEDULER_SCHEDULE_JOB"


class JobUnreadable(JobError):
    """A job is a JSON object: schedule or dueTime, and repeats, ttl, data, overwrite, failurePolicy."""


class JobNameInvalid(JobError):
    """The name of a job is at most 200 characters, where each that an id has not counts three for each byte."""

    error_code = reason = "DAPR_SCHEDULER_JOB_NAME"


class JobNameInBody(JobNameInvalid):
    """Set the job name in the url only."""


class JobNameEmpty(JobNameInvalid):
    """The name of a job is not empty, and has no | and no control character."""

    error_code = reason = "DAPR_SCHEDULER_JOB_NAME_EMPTY"


class JobsChannelTooLong(JobError):
    """The app id and the namespace are too long for the id of the channel of their jobs, which has 255 characters."""


class ScheduleEmpty(JobError):
    """A job needs a schedule or a dueTime."""

    error_code = reason = "DAPR_SCHEDULER_SCHEDULE_EMPTY"


class JobNeverRuns(JobError):
    """This job would never run: there is no such time before its ttl, within ten years from now."""


class JobExists(JobError):
    """There is a job with this name; overwrite replaces one's own."""

    status = 409
    grpc_code = "ALREADY_EXISTS"


class JobTaken(JobExists):
    """The name is that of another producer's job, or of a schedule that is no job: overwrite replaces neither."""


class GetJobError(JobError):
    """The job could not be read."""

    error_code = reason = "DAPR_SCHEDULER_GET_JOB"


class JobNotFound(GetJobError):
    """There is no job with this name."""

    status = 404
    grpc_code = "NOT_FOUND"


class DeleteJobError(JobError):
    """The job could not be deleted."""

    error_code = reason = "DAPR_SCHEDULER_DELETE_JOB"


class JobNotDeleted(DeleteJobError):
    """There is no job with this name."""

    status = 404
    grpc_code = "NOT_FOUND"
