"""The addresses that know of messages for later."""

from django.urls import path

from scheduling_app.api import status

urlpatterns = [
    path("channel/<str:channel_id>/messages-status", status.MessagesStatusView.as_view()),
]
