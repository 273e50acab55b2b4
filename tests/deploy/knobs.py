"""The knobs as the guide's reference reads them from the settings' own source."""

from broker_project.guide.knobs import TOP, Knob, read_knobs

__all__ = ["TOP", "Knob", "read_knobs"]
