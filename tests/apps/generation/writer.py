"""A writer of questions and a judge for the loopback server: it reads the delimited passages, and keeps to its form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]

_DATA = re.compile(r"<<<(?P<name>\w+) (?P<code>\w+)\n(?P<text>.*?)\n(?P=code) (?P=name)>>>", re.DOTALL)
_SENTENCE = re.compile(r"[^.!?]{30,250}[.!?]")
_WORD = re.compile(r"\w{5,}")


def data_of(messages: Sequence[Json]) -> dict[str, str]:
    """Return the data of a prompt by its names."""
    return {found["name"]: found["text"] for found in _DATA.finditer(messages[-1]["content"])}


def sentence_of(passage: str) -> str:
    """Return the sentence of a passage with the most long words."""
    return max(_SENTENCE.findall(passage), key=lambda text: len(_WORD.findall(text))).strip()


def question_about(*sentences: str) -> str:
    words = [" ".join(sorted(set(_WORD.findall(sentence)), key=len)[-5:]) for sentence in sentences]
    return f"What is told of {' beside '.join(words)}?"


def answers(question: str, passages: str) -> bool:
    """Whether a question's long words all stand in the passages."""
    return all(word in passages for word in set(_WORD.findall(question)) - {"beside"})


def write(messages: Sequence[Json], schema: Json | None) -> Json:
    """Answer as a good model would: with a question about a sentence, or with whether its text are there."""
    data = data_of(messages)
    if "question" in data:
        return {"answerable": answers(data["question"], data["passages"])}
    if "whether a search engine over a collection of documents knows" in messages[0]["content"]:
        return {"question": f"{question_about(sentence_of(data['passage']))[:-1]} Zanzibar?", "quotes": []}
    quotes = [sentence_of(text) for text in data.values()]
    return {"question": question_about(*quotes), "quotes": quotes}
