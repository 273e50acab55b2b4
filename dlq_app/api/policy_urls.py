"""The address of a channel's dead letter policy."""

from django.urls import path

from dlq_app.api import policy

urlpatterns = [path("channel/<str:channel_id>/dead-letter-policy", policy.DeadLetterPolicyView.as_view())]
