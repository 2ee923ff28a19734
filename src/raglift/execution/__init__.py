"""Runs stages: concurrency, timeouts, retries, and what becomes of a failure."""

from raglift.execution.policy import Policy
from raglift.execution.stages import RerankStage, RetrieveStage, Stage
from raglift.execution.traces import ask_stage, run_stages

__all__ = ["Policy", "RerankStage", "RetrieveStage", "Stage", "ask_stage", "run_stages"]
