"""The admin's theme and navigation."""

UNFOLD = {
    "SITE_TITLE": "Message broker",
    "SITE_HEADER": "Message broker",
    "SITE_SUBHEADER": "with a clock",
    "SITE_SYMBOL": "schedule_send",
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "SIDEBAR": {
        "show_search": True,
        "show_all_applications": False,
        "navigation": "channels_app.admin.navigation.build",
    },
}
