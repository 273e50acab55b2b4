"""Staff's pages of reports."""

from reports_app.admin import reports

__all__ = ["reports"]
