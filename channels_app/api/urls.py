"""The addresses of the core."""

from django.urls import path

from channels_app.api import jobs, messages, operations, state, views

urlpatterns = [
    path("producers", views.ProducersView.as_view()),
    path("producer/<str:producer_id>", views.ProducerView.as_view()),
    path("channels", views.ChannelsView.as_view()),
    path("channel/<str:channel_id>", views.ChannelView.as_view()),
    path("channel/<str:channel_id>/messages", messages.MessagesView.as_view()),
    path("channel/<str:channel_id>/message/<str:message_id>", messages.MessageView.as_view()),
    path("channel/<str:channel_id>/task/<str:message_id>", jobs.TaskView.as_view()),
    path("job-status", messages.JobStatusView.as_view()),
    path("operations", operations.OperationsView.as_view()),
    path("operations/<str:operation_id>", operations.OperationView.as_view()),
    path("operations/<str:operation_id>/stop", operations.StopOperationView.as_view()),
    path("operations/<str:operation_id>/resume", operations.ResumeOperationView.as_view()),
    path("channel/<str:channel_id>/consumers", views.ConsumersView.as_view()),
    path("channel/<str:channel_id>/pause", state.PauseChannelView.as_view()),
    path("channel/<str:channel_id>/resume", state.ResumeChannelView.as_view()),
    path("channel/<str:channel_id>/consumer/<str:consumer_id>/pause", state.PauseConsumerView.as_view()),
    path("channel/<str:channel_id>/consumer/<str:consumer_id>/resume", state.ResumeConsumerView.as_view()),
    path("channel/<str:channel_id>/consumer/<str:consumer_id>/rotate-secret", state.RotateSecretView.as_view()),
    path("channel/<str:channel_id>/consumer/<str:consumer_id>/queued-jobs", jobs.QueuedJobsView.as_view()),
    path("channel/<str:channel_id>/consumer/<str:consumer_id>/job/<str:job_id>", jobs.JobView.as_view()),
    path("channel/<str:channel_id>/consumer/<str:consumer_id>", views.ConsumerView.as_view()),
]
