from reports_app.models.lake import LakeKind, LakeMark, LakeSlice, LakeWatermark
from reports_app.models.report import Report, ReportStatus

__all__ = ["LakeKind", "LakeMark", "LakeSlice", "LakeWatermark", "Report", "ReportStatus"]
