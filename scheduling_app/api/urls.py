"""The addresses that know of messages for later."""

from django.urls import path

from scheduling_app.api import bulk, lifecycle, scheduled, schedules, status

urlpatterns = [
    path("channel/<str:channel_id>/messages-status", status.MessagesStatusView.as_view()),
    path("channel/<str:channel_id>/scheduled-messages", scheduled.ScheduledMessagesView.as_view()),
    path("channel/<str:channel_id>/scheduled-partitions", scheduled.ScheduledPartitionsView.as_view()),
    path("channel/<str:channel_id>/scheduled-message/<str:message_id>", lifecycle.ScheduledMessageView.as_view()),
    path(
        "channel/<str:channel_id>/scheduled-message/<str:message_id>/dispatch-now", lifecycle.DispatchNowView.as_view()
    ),
    path("channel/<str:channel_id>/scheduled-messages/cancel", bulk.BulkCancelView.as_view()),
    path("channel/<str:channel_id>/scheduled-messages/reschedule", bulk.BulkRescheduleView.as_view()),
    path("channel/<str:channel_id>/schedules", schedules.SchedulesView.as_view()),
    path("channel/<str:channel_id>/schedule/<str:schedule_id>", schedules.ScheduleView.as_view()),
    path("channel/<str:channel_id>/schedule/<str:schedule_id>/pause", schedules.PauseScheduleView.as_view()),
    path("channel/<str:channel_id>/schedule/<str:schedule_id>/resume", schedules.ResumeScheduleView.as_view()),
    path("channel/<str:channel_id>/schedule/<str:schedule_id>/preview", schedules.PreviewScheduleView.as_view()),
]
