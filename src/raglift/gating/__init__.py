"""Whether a run may pass: bounds on its figures, and no real loss against a baseline."""

from raglift.gating.deciding import GateResult, gate
from raglift.gating.records import Check, FlippedQuery, Outcome, Regression

__all__ = ["Check", "FlippedQuery", "GateResult", "Outcome", "Regression", "gate"]
