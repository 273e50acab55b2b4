"""Sortable, and never in doubt about the zone: TIME_ZONE is UTC."""

DATE_FORMAT = "Y-m-d"
DATETIME_FORMAT = r"Y-m-d H:i:s \U\T\C"
SHORT_DATETIME_FORMAT = DATETIME_FORMAT
DATE_INPUT_FORMATS = ["%Y-%m-%d"]
