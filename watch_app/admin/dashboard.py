"""The dashboard's places: its addresses, first in the sidebar, and the admin's first page points at it."""

from django.urls import path

from channels_app.admin import dashboard, navigation
from watch_app.admin import views
from watch_app.admin.addresses import PAGES, add_page
from watch_app.admin.sight import VIEW

DASHBOARD = navigation.Page("Dashboard", "space_dashboard", "admin:watch_dashboard", VIEW, stands_alone=True)

navigation.GROUPS["Watch"].insert(0, DASHBOARD)
dashboard.POINTERS.append(DASHBOARD)

add_page("", views.page, "watch_dashboard")
# Not by way of the log-in page: a script asks for it.
PAGES.append(path("watch/data", views.data, name="watch_data"))
