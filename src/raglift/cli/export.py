"""`raglift export`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from raglift.cli.json_output import print_json
from raglift.results.evaluation import load_evaluation
from raglift.storage.rankings.exporting import export

if TYPE_CHECKING:
    from raglift.cli.pipeline import Export
    from raglift.storage.rankings.forms import WrittenForm


def run(request: Export) -> None:
    """Load, write, say what was written."""
    written = export(
        load_evaluation(request.run),
        request.output,
        form=cast("WrittenForm", request.form),
        stage=request.stage,
        all_stages=request.all_stages,
        subtopics=request.subtopics,
        escape_ids=request.escape_ids,
        overwrite=request.overwrite,
    )
    if request.as_json:
        print_json(written.to_dict())
    else:
        sys.stdout.write(f"{written}\n")
