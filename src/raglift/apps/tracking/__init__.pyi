from .records import TrackedRun as TrackedRun
from .tracking import TRACKERS as TRACKERS
from .tracking import track as track
