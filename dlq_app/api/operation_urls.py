"""The addresses of long acts on dead letters and on what was, or was not, delivered."""

from django.urls import path

from dlq_app.api import operations

urlpatterns = [
    path("dead-letters/redrive", operations.RedriveView.as_view()),
    path("channel/<str:channel_id>/consumer/<str:consumer_id>/replay", operations.ReplayView.as_view()),
    path("channel/<str:channel_id>/consumer/<str:consumer_id>/deliver-missed", operations.DeliverMissedView.as_view()),
]
