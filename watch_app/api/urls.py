"""The addresses of what is watched."""

from django.urls import path

from watch_app.api import alerts

urlpatterns = [path("alerts", alerts.AlertsView.as_view())]
