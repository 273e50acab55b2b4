"""Every metric of alerts, with its labels and its meaning. docs/metrics.md tells the same."""

from channels_app.metrics.catalogue import Described

OPEN = Described("broker_alerts_open", "Alerts that have begun and are not over, by rule.", ("rule",))
