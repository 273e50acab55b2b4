from reports_app.models.lake import LakeKind, LakeMark, LakeSlice, LakeWatermark

__all__ = ["LakeKind", "LakeMark", "LakeSlice", "LakeWatermark"]
