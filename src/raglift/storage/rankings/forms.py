"""The file formats of rankings and labels: their names, their columns, and how a format is recognized.

`trec`: rankings as `query Q0 id rank score tag`, labels as `query iteration id relevance`.
`jsonl`: rankings as `{"query_id", "hits": [{"id", "text", "score"}, …]}` per query, also with `texts` or `ids` for
the `hits`, or `{"query_id", "id", "score"}` per hit; labels as `{"query_id", "id", "grade"}`.
`parquet`: one row per hit (`query_id`, `id`, optionally `score`, `rank`) or per label (`query_id`, `id`, `grade`).

Any of the texts may be compressed with gzip, and then ends with `.gz`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from raglift.errors import ConfigurationError

Form = Literal["trec", "jsonl", "parquet"]
"""What a file of rankings or labels is written in."""

FORMS: tuple[Form, ...] = ("trec", "jsonl", "parquet")
"""The forms that are read, as an option names them."""
WrittenForm = Literal["trec", "parquet"]
"""What a file of rankings or labels can be written as."""
WRITTEN_FORMS: tuple[WrittenForm, ...] = ("trec", "parquet")
"""The forms that are written."""

QUERY_ID, ID, SCORE, RANK, GRADE = "query_id", "id", "score", "rank", "grade"
"""Fields in JSON Lines and columns in Parquet; a rank is counted from 1."""
HITS, TEXTS, IDS = "hits", "texts", "ids"
"""In JSON Lines, the list of one query's hits, best first: of objects or bare ids, of texts, or of ids."""
QUESTIONS = ("question", "query")
"""In JSON Lines, what the text of a query is called, by which it can be named in place of its id."""
TEXT, DOC, START, END = "text", "doc", "start", "end"
"""In JSON Lines, further fields of a hit, as labels have them: its text, and where that stands in which document."""

RUN_COLUMNS = ("query", "Q0", "id", "rank", "score", "tag")
"""What the columns of a TREC run are called in messages."""
QRELS_COLUMNS = ("query", "iteration", "id", "relevance")
"""What the columns of TREC qrels are called in messages."""
LITERAL_Q0, ITERATION = "Q0", "0"
"""What TREC files have in the columns that nobody reads."""

COMPRESSED = ".gz"
"""How the name of a compressed file ends."""
_ENDINGS: dict[str, Form] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def form_of(path: Path, form: str | None = None) -> Form:
    """Return a file's form: what is asked for, else what its ending says, else TREC, whose files end with anything."""
    if form is None:
        name = path.name.lower().removesuffix(COMPRESSED)
        return next((found for ending, found in _ENDINGS.items() if name.endswith(ending)), "trec")
    for known in FORMS:
        if form == known:
            return known
    raise ConfigurationError(f"form: found {form!r}; expected one of {', '.join(FORMS)}")
