"""Experiment trackers: what was measured, kept in MLflow or Weights & Biases beside a team's other experiments."""

from raglift.integrations.tracking.records import Curve, Record, Trackable, TrackedRun
from raglift.integrations.tracking.telling import TRACKERS, Tracker, open_tracker, track

__all__ = ["TRACKERS", "Curve", "Record", "Trackable", "TrackedRun", "Tracker", "open_tracker", "track"]
