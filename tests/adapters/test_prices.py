"""List prices by the names of models."""

import pytest

from raglift.llm.providers import CHAT_PRICES, chat_price_of, dollars_in_short


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("openai:gpt-4o-mini", (0.15, 0.60)),
        ("openai:gpt-4o-mini-2024-07-18", (0.15, 0.60)),
        ("openai:gpt-5", (1.25, 10.0)),
        ("openai:gpt-4o-mini-audio", None),
        ("gpt-4o-mini", None),
        ("groq:gpt-4o-mini", None),
    ],
)
def test_the_price_of_a_chat_model(name, price):
    assert chat_price_of(name) == price


def test_writing_costs_more_than_reading():
    assert all(0 < read < write for read, write in CHAT_PRICES.values())


@pytest.mark.parametrize(("dollars", "text"), [(0, "0.00"), (0.00123, "0.0012"), (0.5, "0.5"), (1234.5, "1,234.50")])
def test_dollars_have_two_digits_that_count(dollars, text):
    assert dollars_in_short(dollars) == text
