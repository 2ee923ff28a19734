"""Mappings for the rows that other tools export."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from raglift.datasets.formats.mapping import JSON, LITERAL, RowMapping

_QUESTIONS = ("question", "query", "user_input", "input", "prompt", "text")
_PASSAGES = ("reference_contexts", "contexts", "context", "documents", "passages", "facts")
_LISTS = {"passage": (JSON, LITERAL), "chunk": (JSON, LITERAL)}


def _below(tops: Collection[str], names: Collection[str]) -> tuple[str, ...]:
    return tuple(f"{top}.{name}" for top in tops for name in names)


PresetName = Literal["squad", "ragas", "langsmith", "deepeval", "langfuse"]
"""The name of a preset, which is a format's."""
PRESETS: Mapping[PresetName, RowMapping] = {
    "squad": RowMapping(
        "SQuAD",
        {
            "question": ("question",),
            "id": ("id",),
            "document": ("context",),
            "doc": ("document_id",),
            "title": ("title",),
            "passage": ("answers.text",),
            "start": ("answers.answer_start",),
            "unanswerable": ("is_impossible",),
        },
        root="data.paragraphs.qas",
        fields=(frozenset({"context", "question", "answers"}),),
        alternatives=True,
    ),
    "ragas": RowMapping(
        "ragas",
        {
            "question": ("user_input",),
            "passage": ("reference_contexts",),
            "chunk": ("reference_context_ids",),
            "tags": ("synthesizer_name",),
        },
        _LISTS,
        fields=(frozenset({"user_input"}),),
        prefix=r"<\d+-hop>\s*",  # its questions of several hops number their contexts so
    ),
    "langsmith": RowMapping(
        "LangSmith",
        {
            "question": _below(("inputs",), _QUESTIONS),
            "id": ("id",),
            "passage": _below(("outputs", "metadata"), _PASSAGES),
            "tags": ("metadata.tags",),
        },
        _LISTS,
        fields=(frozenset({"inputs", "outputs"}),),
    ),
    "deepeval": RowMapping(
        "DeepEval",
        {"question": ("input",), "passage": ("context",)},
        {"passage": ("|",)},
        fields=(frozenset({"input", "expected_output", "context"}),),
    ),
    "langfuse": RowMapping(
        "Langfuse",
        {
            "question": (*_below(("input",), _QUESTIONS), "input"),
            "id": ("id",),
            "passage": _below(("expectedOutput", "expected_output", "metadata"), _PASSAGES),
            "tags": ("metadata.tags",),
        },
        _LISTS,
        where=("status!=ARCHIVED",),
        root="data",
        fields=(frozenset({"input", "expectedOutput"}), frozenset({"input", "expected_output"})),
    ),
}
"""By the name of the format; the first that fits a row is recognized."""

TABLE_COLUMNS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "corpus": {"id": ("_id", "id"), "text": ("text",)},
    "queries": {"id": ("_id", "id"), "text": ("text", "query")},
    "qrels": {"query": ("query-id",), "document": ("corpus-id",), "grade": ("score",)},
}
"""The columns of the three tables of BEIR and MTEB."""


def recognize_preset(fields: Collection[str]) -> PresetName | None:
    """Return the preset for rows with these fields; None if none fits."""
    return next((name for name, preset in PRESETS.items() if any(each <= set(fields) for each in preset.fields)), None)
