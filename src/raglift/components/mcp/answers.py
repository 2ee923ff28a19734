"""The result of a tool as hits: structured content, JSON in a text, texts, and resources."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.base.validation import quoted
from raglift.components.http.answers import AnswerReader
from raglift.components.http.mapping import ResponseFields
from raglift.errors import ServiceFailed, ServiceUnusable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.base.display import Secrets
    from raglift.records.documents import Chunk


@dataclass(frozen=True)
class ResultReader:
    """Reads the results of a tool."""

    tool: str
    """Its name, for errors."""
    paths: ResponseFields
    """Where things are, as the mapping says."""
    separator: str | None
    """What stands between the hits of a text; None for a text that is one hit."""
    empty: str | None
    """How a text begins that says that nothing was found."""
    secrets: Secrets
    """What must not be shown, should a result repeat it."""
    doc_key: str | None = None
    """Where the paths name no document: the key that holds its id."""

    def read(self, result: Any) -> list[tuple[Chunk, float | None]]:
        """Return the hits of a result, best first, as the tool has them.

        Raises:
            ServiceFailed: the tool says that it failed.
            ServiceUnusable: the result has another shape; the message shows it, and what to write in the mapping.
        """
        if result.is_error:
            said = self.secrets.beginning(" ".join(_texts(result.content)).encode("utf-8", "replace"))
            raise ServiceFailed(f"the tool {quoted(self.tool)} answers with an error — {said or 'without a message'}")
        if self._is_empty(result.content):
            return []
        values = self._json(result)
        listed = self._listed(result.content)
        if self.paths != ResponseFields():
            return self._reader.read(values[0] if values else listed)
        for value in values:
            if (found := self._hits_in(value)) is not None:
                return found
        # Prose beside JSON without a list of hits has them; where there is JSON alone, the error shows what is in it
        is_prose = any(_parsed(text) is None for text in _texts(result.content)) or len(listed) > len(values)
        return self._reader.read(values[0] if values and not is_prose else listed)

    def is_one_text(self, result: Any, hits: Sequence[tuple[Chunk, float | None]]) -> bool:
        """Whether a result is one text that was read as one hit, where nothing says how it would be split."""
        texts = _texts(result.content)
        return self.separator is None and len(hits) == len(texts) == 1 and hits[0][0].text == texts[0].strip()

    @property
    def _reader(self) -> AnswerReader:
        return AnswerReader(self.paths, self.secrets, self.doc_key)

    def _hits_in(self, value: Any) -> list[tuple[Chunk, float | None]] | None:
        """Return the hits of JSON, or its one hit; None where it has neither."""
        for each in (value, [value]):
            if isinstance(each, (dict, list)):
                try:
                    return self._reader.read(each)
                except ServiceUnusable:
                    continue
        return None

    def _is_empty(self, content: Sequence[Any]) -> bool:
        texts = [text.strip() for text in _texts(content)]
        return self.empty is not None and bool(texts) and all(text.startswith(self.empty) for text in texts)

    def _json(self, result: Any) -> list[Any]:
        """Return the JSON of a result: what is structured, then what its texts are."""
        texts, structured = _texts(result.content), result.structured_content
        # A text that a tool returns is often wrapped, as {"result": text} by the SDK, and is in the content too
        is_a_text = isinstance(structured, dict) and list(structured.values()) in (["".join(texts)], ["\n".join(texts)])
        found = [] if structured is None or is_a_text else [structured]
        parsed = [_parsed(text) for text in texts]
        if parsed and all(value is not None for value in parsed):
            found.append(parsed[0] if len(parsed) == 1 else parsed)
        return found

    def _listed(self, content: Sequence[Any]) -> list[dict[str, Any]]:
        """Return the content as mappings: a text or a piece of it, a resource, or a link to one; pictures have none."""
        found: list[dict[str, Any]] = []
        for block in content:
            if block.type == "text":
                pieces = [block.text] if self.separator is None else block.text.split(self.separator)
                found += [{"text": piece.strip()} for piece in pieces if piece.strip()]
            elif block.type == "resource_link":
                told = [block.title, block.description]
                text = "\n".join(each for each in told if each) or block.name
                found.append({"text": text, "id": str(block.uri), "doc_id": str(block.uri), "name": block.name})
            elif block.type == "resource" and (text := getattr(block.resource, "text", None)):
                uri = str(block.resource.uri)
                found.append({"text": text, "id": uri, "doc_id": uri})
        return found


def _texts(content: Sequence[Any]) -> list[str]:
    return [block.text for block in content if block.type == "text"]


def _parsed(text: str) -> Any:
    """Return the JSON that a text is; None if it is none."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
