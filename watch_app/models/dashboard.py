"""Who may see the dashboard."""

from django.db import models


class Dashboard(models.Model):
    """Has no rows and no table: it is there for its permission."""

    class Meta:
        managed = False
        default_permissions = ()
        permissions = [("view_dashboard", "Can see the dashboard")]
