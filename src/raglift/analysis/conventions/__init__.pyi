from .explaining import explain_metrics as explain_metrics
from .records import Choice as Choice
from .records import MetricsExplanationRecord as MetricsExplanationRecord
from .records import MetricUnderProfiles as MetricUnderProfiles
from .records import ProfileValue as ProfileValue
from .records import RankedHit as RankedHit
