"""Many attempts on one reader, drawn by Hypothesis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, seed, settings

from .damage import damages
from .reader import Bench, BrokenError, Damage

__all__ = ["check", "survey"]

settings.register_profile(
    "fuzzing",
    database=None,
    deadline=None,  # each attempt has a bound of its own
    derandomize=True,  # the same attempts each time: what is not in them, the long run looks for
    max_examples=max(50, settings.default.max_examples),  # fewer leave some readers without any input that is read
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    print_blob=False,
    suppress_health_check=list(HealthCheck),
)


def check(bench: Bench, examples: int | None = None) -> Counter[str]:
    """Attempt a bounded number of damages, the same ones each time; return how many came out how.

    Args:
        bench: the reader and its input.
        examples: how many; None for what the profile says.

    Raises:
        BrokenError: for the smallest damage found that breaks the reader.
    """
    profile = settings.get_profile("fuzzing")
    outcomes: Counter[str] = Counter()

    @settings(profile, max_examples=examples or profile.max_examples)
    @given(damages(bench))
    def attempt(damage: Damage) -> None:
        outcomes[bench.attempt(damage)] += 1

    attempt()
    return outcomes


def survey(bench: Bench, examples: int, number: int, broken: Callable[[BrokenError, Damage], None]) -> Counter[str]:
    """Attempt damages of which a number says which they are; go on after a fault; return how many came out how.

    Args:
        bench: the reader and its input.
        examples: how many.
        number: other damages for each number, the same for the same one.
        broken: called for each fault.
    """
    outcomes: Counter[str] = Counter()

    @seed(number)
    @settings(settings.get_profile("fuzzing"), derandomize=False, max_examples=examples, phases=[Phase.generate])
    @given(damages(bench))
    def attempt(damage: Damage) -> None:
        try:
            outcomes[bench.attempt(damage)] += 1
        except BrokenError as error:
            outcomes["fault"] += 1
            broken(error, damage)

    attempt()
    return outcomes
