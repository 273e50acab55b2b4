"""Staff's pages of what is going on: the dashboard, alerts and their rules, the message explorer."""

from watch_app.admin import alert_rules, alerts, dashboard, explorer, explorer_life, explorer_sending

__all__ = ["alert_rules", "alerts", "dashboard", "explorer", "explorer_life", "explorer_sending"]
