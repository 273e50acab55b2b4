"""The admin's theme, navigation and way of writing times."""

from typing import Any

from django.templatetags.static import static

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Message broker",
    "SITE_HEADER": "Message broker",
    "SITE_SUBHEADER": "with a clock",
    "SITE_SYMBOL": "schedule_send",
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_BACK_BUTTON": True,
    "SITE_FAVICONS": [
        {
            "rel": "icon",
            "type": "image/svg+xml",
            "href": lambda request: static("channels_app/favicon.svg"),
        }
    ],
    "STYLES": [lambda request: static("channels_app/theme.css")],
    "SCRIPTS": [
        lambda request: static("channels_app/outside_links.js"),
        lambda request: static("channels_app/field_names.js"),
    ],
    "DASHBOARD_CALLBACK": "channels_app.admin.dashboard.build",
    "SIDEBAR": {
        "show_search": False,
        "show_all_applications": False,
        "navigation": "channels_app.admin.navigation.build",
    },
}

# Every time is UTC and says so.
FORMAT_MODULE_PATH = "channels_app.admin.formats"

# The admin has the only page to log in on.
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"
