"""Every metric of messages for later, with its labels and its meaning. docs/metrics.md tells the same."""

from channels_app.metrics.catalogue import OF_CHANNEL, Described

CREATED = Described("broker_scheduled_created_total", "Messages stored for later.", OF_CHANNEL)
DISPATCHED = Described("broker_scheduled_dispatched_total", "Of these, those that became messages.", OF_CHANNEL)
CANCELLED = Described("broker_scheduled_cancelled_total", "Of these, those that were cancelled.", OF_CHANNEL)
SET_ASIDE = Described("broker_scheduled_set_aside_total", "Of these, those that could not be sent.", OF_CHANNEL)
WAITING = Described("broker_scheduled_waiting", "Messages that wait for their time.", OF_CHANNEL)
OVERDUE = Described("broker_scheduled_overdue", "Messages whose time is past and that still wait, up to 10,000.")
OLDEST_OVERDUE = Described("broker_scheduled_oldest_overdue_seconds", "How late the first of them is.", OF_CHANNEL)
LAG_SECONDS = Described("broker_schedule_lag_seconds", "From due to dispatched.", OF_CHANNEL)
ERRORS = Described("broker_scheduling_errors_total", "Runs of scheduling tasks that went wrong.", ("task", "outcome"))
