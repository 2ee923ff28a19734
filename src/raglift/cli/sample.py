"""`raglift labels sample`."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from raglift.base.display import counted, printable
from raglift.base.limits import is_folder, is_there
from raglift.cli.evaluate import numbers_of_hits
from raglift.cli.saved_runs import load_runs
from raglift.errors import ConfigurationError
from raglift.judging.human_grades import sample_for_grading

if TYPE_CHECKING:
    from raglift.cli.judging import Sample


def run(request: Sample) -> None:
    """Pool, draw, write.

    Raises:
        ConfigurationError: an option that cannot be used; nothing is written.
        RunError: a folder that holds no evaluation and no sweep.
    """
    output = request.output
    if output is None or output.suffix.lower() not in (".jsonl", ".ndjson"):
        found = "none" if output is None else str(output)
        raise ConfigurationError(f"--output: found {found}; expected the .jsonl file that the pairs are written to")
    if is_folder(output) or (is_there(output) and not request.overwrite):
        raise ConfigurationError(f"{output}: found something there; expected a free name, or --overwrite")
    sample = sample_for_grading(
        load_runs(request.runs),
        request.n,
        k=max(numbers_of_hits(request.k)),
        sampled="queries" if request.queries else "pairs",
        metric=request.metric,
        seed=request.seed,
    )
    sample.write(output, overwrite=request.overwrite)
    drawn = f"{request.n:,} of {sample.of:,} queries" if request.queries else f"of {sample.of:,}"
    depth = "" if tuple(request.k) == ("10",) else f" -k {','.join(request.k)}"
    runs = " ".join(shlex.quote(str(folder)) for folder in request.runs)
    lines = (
        f"{counted(len(sample), 'pair')} to grade ({drawn}, seed {request.seed}) written to {output}; next:",
        "  fill in each line's grade, 0 for irrelevant, without leaving any out",
        f"  raglift labels grade {runs}{depth} -o graded.jsonl --human {shlex.quote(str(output))}",
    )
    sys.stderr.write("".join(printable(line) + "\n" for line in lines))
