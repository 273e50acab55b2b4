from watch_app.models.alert_rule import AlertRule
from watch_app.models.dashboard import Dashboard
from watch_app.models.recorded import Flow, Measure, Recorded, Source, Step

__all__ = ["AlertRule", "Dashboard", "Flow", "Measure", "Recorded", "Source", "Step"]
