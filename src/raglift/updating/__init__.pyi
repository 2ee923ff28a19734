from .attribution import MetricChange as MetricChange
from .attribution import attribute_change as attribute_change
from .records import CERTAIN as CERTAIN
from .records import KINDS as KINDS
from .records import Candidate as Candidate
from .records import LabelUpdate as LabelUpdate
from .records import UpdatedPassage as UpdatedPassage
from .update import update_labels as update_labels
