"""The result of an MCP tool as hits: structured content, JSON in a text, texts, and resources."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.errors import ServiceFailed, ServiceUnusable
from raglift.retrieval.services.answers import AnswerReader
from raglift.retrieval.services.mapping import ResponseFields
from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.types.documents import Chunk
    from raglift.utilities.display import Secrets

_Hits = list[tuple["Chunk", float | None]]


@dataclass(frozen=True)
class ResultReader:
    """Reads the results of a tool."""

    paths: ResponseFields
    """Where things are, as the mapping says."""
    separator: str | None
    """What stands between the hits of a text; None for a text that is one hit."""
    empty: str | None
    """How a text begins that says that nothing was found."""
    secrets: Secrets
    """What must not be shown if a result repeats it."""
    doc_key: str | None = None
    """If the paths name no document: the key that holds its id."""

    def read(self, result: Any, tool: str) -> _Hits:
        """Return the hits of a result, best first, as the tool has them.

        Raises:
            ServiceFailed: the tool says that it failed.
            ServiceUnusable: the result has another shape; the message shows it, and what to write in the mapping.
        """
        texts = _texts(result)
        if result.is_error:
            message = self.secrets.beginning(" ".join(texts).encode("utf-8", "replace"))
            raise ServiceFailed(f"the tool {quoted(tool)} answers with an error — {message or 'without a message'}")
        if self.empty is not None and texts and all(text.strip().startswith(self.empty) for text in texts):
            return []
        reader = AnswerReader(self.paths, self.secrets, self.doc_key)
        values, blocks = self._json(result), self._blocks(result.content)
        if self.paths != ResponseFields():
            return reader.read(values[0] if values else blocks)
        for answer in (each for value in values for each in (value, [value])):
            try:
                return reader.read(answer)
            except ServiceUnusable:
                continue
        # Prose beside JSON without a list of hits has them; if there is JSON alone, the error shows what is in it
        is_prose = any(_parsed(text) is None for text in texts) or len(blocks) > len(values)
        return reader.read(values[0] if values and not is_prose else blocks)

    def is_one_text(self, result: Any, hits: Sequence[tuple[Chunk, float | None]]) -> bool:
        """Whether a result is one text that was read as one hit, and nothing says how it would be split."""
        texts = _texts(result)
        return self.separator is None and len(hits) == len(texts) == 1 and hits[0][0].text == texts[0].strip()

    def _json(self, result: Any) -> list[Any]:
        """Return the JSON of a result: what is structured, then what its texts are."""
        texts, structured = _texts(result), result.structured_content
        # A text that a tool returns is often wrapped, by the SDK as {"result": text}, and is in the content too
        is_a_text = isinstance(structured, dict) and list(structured.values()) in (["".join(texts)], ["\n".join(texts)])
        values = [] if structured is None or is_a_text else [structured]
        parsed = [_parsed(text) for text in texts]
        if parsed and all(value is not None for value in parsed):
            values.append(parsed[0] if len(parsed) == 1 else parsed)
        return values

    def _blocks(self, content: Sequence[Any]) -> list[dict[str, Any]]:
        """Return the content as hits: a text or a piece of it, a resource, or a link to one; pictures are none."""
        hits: list[dict[str, Any]] = []
        for block in content:
            if block.type == "text":
                pieces = [block.text] if self.separator is None else block.text.split(self.separator)
                hits += [{"text": piece.strip()} for piece in pieces if piece.strip()]
            elif block.type == "resource_link":
                text = "\n".join(filter(None, [block.title, block.description])) or block.name
                hits.append({"text": text, "id": str(block.uri), "doc_id": str(block.uri), "name": block.name})
            elif block.type == "resource" and (text := getattr(block.resource, "text", None)):
                uri = str(block.resource.uri)
                hits.append({"text": text, "id": uri, "doc_id": uri})
        return hits


def _texts(result: Any) -> list[str]:
    return [block.text for block in result.content if block.type == "text"]


def _parsed(text: str) -> Any:
    """Return the JSON that a text is; None if it is none."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
