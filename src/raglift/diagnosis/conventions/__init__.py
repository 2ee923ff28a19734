"""Why tools disagree: one query's metrics under every profile, and what makes each difference."""

from raglift.diagnosis.conventions.explaining import explain_metrics
from raglift.diagnosis.conventions.records import (
    Choice,
    MetricsExplanationRecord,
    MetricUnderProfiles,
    ProfileValue,
    RankedHit,
)

__all__ = ["Choice", "MetricUnderProfiles", "MetricsExplanationRecord", "ProfileValue", "RankedHit", "explain_metrics"]
