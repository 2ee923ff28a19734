from __future__ import annotations

import pytest

import raglift as rl


@pytest.fixture(scope="session")
def shop() -> rl.Dataset:
    return rl.load_dataset("shop_support")


@pytest.fixture(scope="session")
def some(shop: rl.Dataset) -> rl.Dataset:
    """A few queries of which most need several facts, with the documents."""
    several = [query.id for query in shop.queries if len(query.facts) > 1][:4]
    return shop.only(ids=[*several, shop.queries[-1].id])
