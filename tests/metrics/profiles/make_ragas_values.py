"""Writes `ragas_values.json`: what ragas itself gives on a few hundred random cases that are labelled by id.

ragas does not install next to raglift, so it runs in an environment of its own, which needs nothing else:

    python3 -m venv ragas-env
    ragas-env/bin/pip install ragas==0.4.3 langchain-community==0.3.31  # later ones lack what ragas 0.4.3 imports
    ragas-env/bin/python tests/metrics/profiles/make_ragas_values.py

Its average precision is of contexts that are compared as texts; comparing ids for equality makes it that of ids.
"""

from __future__ import annotations

import json
import math
import platform
import random
import warnings
from importlib.metadata import version
from pathlib import Path

COMMAND = "ragas-env/bin/python tests/metrics/profiles/make_ragas_values.py"
TARGET = Path(__file__).with_name("ragas_values.json")
SEED = 7
CASES = 400


def random_case(draw: random.Random) -> tuple[list[str], list[str]]:
    """Return what came back and what is relevant: with repeats and misses, sometimes empty, sometimes long."""
    names = [f"c{number}" for number in range(draw.choice((4, 12, 40, 200)))]
    length = draw.choice((0, 1, 2, 5, 10, 10, 25, 100))
    distinct = draw.random() < 0.5
    retrieved = draw.sample(names, min(length, len(names))) if distinct else draw.choices(names, k=length)
    relevant = draw.sample(names, draw.randint(1, min(len(names), draw.choice((1, 3, 10, 30)))))
    return retrieved, relevant


def values(retrieved: list[str], relevant: list[str]) -> dict[str, float | None]:
    """Return what ragas gives; null where it gives NaN."""
    from ragas import SingleTurnSample
    from ragas.metrics import (
        ExactMatch,
        IDBasedContextPrecision,
        IDBasedContextRecall,
        NonLLMContextPrecisionWithReference,
    )

    by_id = SingleTurnSample(retrieved_context_ids=retrieved, reference_context_ids=relevant)
    by_text = SingleTurnSample(retrieved_contexts=retrieved, reference_contexts=relevant)
    found = {
        "precision": IDBasedContextPrecision().single_turn_score(by_id),
        "recall": IDBasedContextRecall().single_turn_score(by_id),
        "ap": NonLLMContextPrecisionWithReference(distance_measure=ExactMatch()).single_turn_score(by_text),
    }
    return {name: None if math.isnan(value) else float(value) for name, value in found.items()}


def main() -> None:
    """Write the cases with their values, one a line."""
    warnings.simplefilter("ignore")
    draw = random.Random(SEED)  # noqa: S311 — test data
    worked = (["A", "X", "B"], ["A", "B", "C"])
    cases = [worked, *(random_case(draw) for _ in range(CASES))]
    rows = [
        json.dumps({"retrieved": " ".join(retrieved), "relevant": " ".join(relevant), **values(retrieved, relevant)})
        for retrieved, relevant in cases
    ]
    head = {"tool": f"ragas {version('ragas')}", "python": platform.python_version(), "command": COMMAND, "seed": SEED}
    lines = json.dumps(head, indent=1).removesuffix("\n}")
    TARGET.write_text(f'{lines},\n "cases": [\n  ' + ",\n  ".join(rows) + "\n ]\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
