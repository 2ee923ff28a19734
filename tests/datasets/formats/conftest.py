from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raglift.datasets.loading import load_dataset
from raglift.errors import DatasetError

Faults = Callable[..., str]


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """A small dataset in each format, as its makers publish them."""
    return Path(__file__).parents[1] / "fixtures"


@pytest.fixture
def faults() -> Faults:
    """Load what cannot be loaded and return the message: a title, then a line for each fault."""

    def load(source: Path, **options: Any) -> str:
        with pytest.raises(DatasetError) as caught:
            load_dataset(source, **options)
        assert "nothing was loaded" in str(caught.value)
        return str(caught.value)

    return load
