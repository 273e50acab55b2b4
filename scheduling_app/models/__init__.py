"""The rows of messages for later. Status and time are written here and by the steps beside, and nowhere else."""

from scheduling_app.models.component import Component
from scheduling_app.models.queue import Queue
from scheduling_app.models.recurring import Missed, Overlap, RecurringSchedule
from scheduling_app.models.scheduled_message import ScheduledMessage, ScheduledStatus

__all__ = ["Component", "Missed", "Overlap", "Queue", "RecurringSchedule", "ScheduledMessage", "ScheduledStatus"]
