"""The addresses of dead letters."""

from django.urls import path

from dlq_app.api import acts, export, letters, queue

CONSUMER = "channel/<str:channel_id>/consumer/<str:consumer_id>"

urlpatterns = [
    path(f"{CONSUMER}/dlq", queue.DeadLetterQueueView.as_view()),
    path(f"{CONSUMER}/job/<str:job_id>/requeue-dead-job", queue.RequeueDeadJobView.as_view()),
    path(f"{CONSUMER}/job/<str:job_id>", queue.DeadJobView.as_view()),
    path("dlq-status", queue.DeadLetterStatusView.as_view()),
    path("dead-letters", letters.LettersView.as_view()),
    path("dead-letters/causes", letters.CausesView.as_view()),
    path("dead-letters/export", export.ExportView.as_view()),
    path("dead-letters/requeue", acts.RequeueLettersView.as_view()),
    path("dead-letters/discard", acts.DiscardLettersView.as_view()),
    path("dead-letters/<str:job_id>", letters.LetterView.as_view()),
    path("dead-letters/<str:job_id>/edit", acts.EditLetterView.as_view()),
]
