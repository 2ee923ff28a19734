from .records import Curve as Curve
from .records import Record as Record
from .records import Trackable as Trackable
from .records import TrackedRun as TrackedRun
from .tracking import TRACKERS as TRACKERS
from .tracking import Tracker as Tracker
from .tracking import open_tracker as open_tracker
from .tracking import track as track
