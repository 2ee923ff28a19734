"""`raglift metrics`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from raglift.cli.json_output import print_json
from raglift.metrics.listing import MeasureEntry, list_measures, show_measure

if TYPE_CHECKING:
    from raglift.cli.pipeline import Metrics
    from raglift.metrics.listing import MeasureList


def run(request: Metrics) -> None:
    """Print all measures, or one.

    Raises:
        ConfigurationError: no measure has that name.
    """
    found = list_measures() if request.name is None else show_measure(request.name)
    if request.as_json:
        print_json(found)
        return
    sys.stdout.write(f"{found if isinstance(found, MeasureEntry) else _table(found)}\n")


def _table(found: MeasureList) -> str:
    """Return a row per metric, and how to see more of one."""
    from raglift.rendering.document import table_of
    from raglift.rendering.terminal import as_text

    rows = [(_name(each), each.formula, each.source or each.origin) for each in found.measures]
    table = table_of(("metric", "formula", "source"), rows, left=(0, 1, 2))
    more = (
        "`raglift metrics METRIC` shows one in full: at what it is taken, as ndcg@10, its settings, its other names, "
        "and what it is under the profiles of other tools."
    )
    return as_text([table, "", more])


def _name(each: MeasureEntry) -> str:
    """Return the names that a metric is asked for by, without those that are the first one, shortened."""
    others = [alias for alias in each.aliases if not each.name.replace("_", "").startswith(alias.replace("_", ""))]
    return ", ".join((each.name, *others))
