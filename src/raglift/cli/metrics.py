"""`raglift metrics`."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from raglift.cli.json_output import print_json
from raglift.metrics.listing import list_measures, show_measure

__all__ = ["Request", "run"]


@dataclass(frozen=True)
class Request:
    """The command line, parsed."""

    name: str | None
    as_json: bool


def run(request: Request) -> None:
    """Print all measures, or one.

    Raises:
        ConfigurationError: no measure has that name.
    """
    found = list_measures() if request.name is None else show_measure(request.name)
    if request.as_json:
        print_json(found)
    else:
        sys.stdout.write(f"{found}\n")
