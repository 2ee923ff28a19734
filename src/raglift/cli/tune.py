"""`raglift tune`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.cli.exits import has_width
from raglift.cli.json_output import print_json, records
from raglift.errors import ConfigurationError
from raglift.rendering.presenting import view_of
from raglift.rendering.terminal import WIDTH, print_document
from raglift.results.evaluation import load_evaluation
from raglift.running.tuning import tune

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.cli.choosing import Tune


def run(request: Tune) -> None:
    """Choose settings on saved runs, and print them.

    Raises:
        ConfigurationError: runs that do not go together, or options out of range.
    """
    from rich.console import Console

    found = tune(
        [load_evaluation(path) for path in request.runs],
        metric=request.primary,
        constants=_whole("--constants", request.constants) or None,
        candidates=_whole("--candidates", request.candidates) or None,
        cut_offs=_numbers("--cut-offs", request.cut_offs) or None,
        ks=_whole("-k", request.ks) or None,
        folds=request.folds,
        seed=request.seed,
    )
    if request.as_json:
        best = found.settings[found.best]
        print_json(
            {
                "metric": str(found.metric),
                "best": vars(best),
                "mean_without_tuning": found.means[0],
                "mean_of_the_best": found.means[found.best],
                "mean_tuned": found.tuned,
                "interval_tuned": found.tuned_interval,
                "difference": vars(found.difference),
                "settings": records(found.to_frame()),
            }
        )
        return
    console = Console()
    print_document(view_of(found), console, width=console.width if has_width(console) else WIDTH)


def _whole(name: str, texts: Sequence[str]) -> list[int]:
    try:
        return [int(text) for text in texts]
    except ValueError:
        raise ConfigurationError(f"{name}: found {','.join(texts)!r}; expected integers, as 10,50") from None


def _numbers(name: str, texts: Sequence[str]) -> list[float]:
    try:
        return [float(text) for text in texts]
    except ValueError:
        raise ConfigurationError(f"{name}: found {','.join(texts)!r}; expected numbers, as 0.2,0.5") from None
