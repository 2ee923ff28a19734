"""What results share: each can be kept in an experiment tracker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raglift.integrations.tracking import TrackedRun

__all__ = ["Tracking"]


class Tracking:
    """A result that can be kept in MLflow or Weights & Biases."""

    def track(
        self,
        tracker: str,
        *,
        project: str | None = None,
        name: str | None = None,
        tags: Mapping[str, str | float] | None = None,
        files: bool = True,
    ) -> TrackedRun:
        """Keep it in an experiment tracker: parameters, figures for each stage and k, the report and what was saved.

        Args:
            tracker: `mlflow` or `wandb`; each is set up as ever, by its own environment variables.
            project: MLflow's experiment, or the project at Weights & Biases; by default what the tracker's environment
                variable says, else `raglift`.
            name: what to call the run; by default the dataset and what was measured of it.
            tags: words to find it by, as `{"team": "search"}`; a number or a bool stands as its text.
            files: whether to keep the report and the saved runs with it, which hold the texts of queries and chunks.

        Returns:
            Where it is kept; the cells of a sweep are runs under it.

        Raises:
            ConfigurationError: no tracker has that name, its settings cannot be used, or the project, the name or a tag
                is no text.
            MissingDependency: its package is not installed.
            MissingKey: it wants an API key, and has none.
            TrackingFailed: it cannot be reached, or refused what it was told; the result itself is as it was.
        """
        from raglift.integrations.tracking import track

        result: Any = self
        return track(result, tracker, project=project, name=name, tags=tags, files=files)
