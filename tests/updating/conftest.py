from __future__ import annotations

import pytest
from tests.updating.by_hand import three_labels

from raglift.updating import LabelUpdate


@pytest.fixture
def lights() -> LabelUpdate:
    return three_labels()
