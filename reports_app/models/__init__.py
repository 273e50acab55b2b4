from reports_app.models.lake import LakeKind, LakeMark, LakeOwner, LakeSlice, LakeWatermark
from reports_app.models.report import Report, ReportQuerySet, ReportStatus

__all__ = [
    "LakeKind",
    "LakeMark",
    "LakeOwner",
    "LakeSlice",
    "LakeWatermark",
    "Report",
    "ReportQuerySet",
    "ReportStatus",
]
