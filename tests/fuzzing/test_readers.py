"""Whatever is read is read or refused, in words that can be printed, and leaves files as they are."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from .damage import damages
from .reader import Bench, Damage, Reader

pytestmark = pytest.mark.slow

_MODULES = sorted(path.stem for path in Path(__file__).parent.glob("readers_*.py"))
READERS: list[Reader] = [reader for name in _MODULES for reader in import_module(f".{name}", __package__).READERS]


@pytest.mark.parametrize("reader", READERS, ids=[reader.name for reader in READERS])
def test_damaged_input_is_read_or_refused(reader: Reader, tmp_path: Path) -> None:
    bench = Bench(reader, tmp_path)
    assert bench.attempt({}) == "returned"
    outcomes: Counter[str] = Counter()

    @settings(
        database=None,
        deadline=None,
        derandomize=True,  # the same attempts each time
        max_examples=max(30, settings.default.max_examples // 2),
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(damages(bench))
    def attempt(damage: Damage) -> None:
        outcomes[bench.attempt(damage)] += 1

    attempt()
    assert outcomes["refused"] or not reader.errors
