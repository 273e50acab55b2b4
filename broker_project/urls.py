"""All addresses that Django answers. Health is answered by the frame before it."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerView

admin.autodiscover()

handler400 = "broker_project.api.problems.bad_request"
handler403 = "channels_app.admin.refusals.permission_denied"
handler404 = "channels_app.admin.refusals.not_found"
handler500 = "broker_project.api.problems.server_error"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="docs")),
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("openapi.json", SpectacularJSONAPIView.as_view(), name="openapi"),
    path("docs", SpectacularSwaggerView.as_view(url_name="openapi"), name="docs"),
    # Before letters by their ids.
    path("", include("dlq_app.api.operation_urls")),
    # Before the core's: a job's address can do more there.
    path("", include("dlq_app.api.urls")),
    path("", include("channels_app.api.urls")),
    path("", include("scheduling_app.api.urls")),
    path("", include("dlq_app.api.policy_urls")),
    path("", include("watch_app.api.urls")),
]
