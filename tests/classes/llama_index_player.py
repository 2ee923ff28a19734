"""What plays the language model: answers that a prompt of LlamaIndex can be answered with, by shared words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["answer"]

Json = Mapping[str, Any]


def answer(messages: Sequence[Json], schema: Json | None) -> str | Json:
    """Answer a chat as the prompt asks, from the words it holds: the same prompt has always the same answer."""
    prompt = "\n".join(_text_of(message) for message in messages)
    if schema is not None:
        return _instance(prompt, schema)
    reply = next((reply for mark, reply in _REPLIES.items() if mark in prompt), None)
    return "The handbook says so." if reply is None else reply(prompt)


def _text_of(message: Json) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z0-9]+", text.lower()) if len(word) > 2}


def _ranked(query: str, texts: Sequence[str]) -> list[tuple[int, int]]:
    """The numbers of the texts (from 1) with the words shared with a query, most first."""
    shared = [(number, len(_words(query) & _words(text))) for number, text in enumerate(texts, 1)]
    return sorted(shared, key=lambda pair: -pair[1])


def _question(prompt: str) -> str:
    found = re.findall(r"(?:Question|Query|QUERY|question): *'?(.+)", prompt)
    return found[-1] if found else prompt[-200:]


def _documents(prompt: str) -> list[str]:
    return re.split(r"\n?Document \d+:\n", prompt.rpartition("Let's try this now:")[2])[1:]


def _chosen_documents(prompt: str) -> str:
    ranked = _ranked(_question(prompt), _documents(prompt))
    return "\n".join(f"Doc: {number}, Relevance: {min(10, 1 + shared)}" for number, shared in ranked)


def _permutation(prompt: str) -> str:
    passages = re.findall(r"^\[\d+\] (.+)$", prompt, flags=re.MULTILINE)
    return " > ".join(f"[{number}]" for number, _ in _ranked(_question(prompt), passages))


def _keywords(prompt: str) -> str:
    asked = prompt.split("---------------------")[1]
    return "KEYWORDS: " + ", ".join(sorted(_words(asked))[:10])


def _choice(prompt: str) -> str:
    listed = re.findall(r"^\((\d+)\) (.+?)(?=^\(\d+\)|\n---)", prompt, flags=re.MULTILINE | re.DOTALL)
    (best, _), *_ = _ranked(_question(prompt), [text for _, text in listed]) or [(1, 0)]
    if "ANSWER: <number" in prompt:
        return f"ANSWER: {best}"
    return json.dumps([{"choice": best, "reason": "it shares words with the question"}])


def _masked(prompt: str) -> str:
    text = prompt.rpartition("Context:\n")[2] if "Context:\n" in prompt else prompt
    return f"{text.partition('Task:')[0].strip()}\nOutput Mapping:\n{{}}"


def _sub_questions(prompt: str) -> str:
    tools = re.findall(r'^    "(\w+)":', prompt.rpartition("<Tools>")[2], flags=re.MULTILINE)
    asked = prompt.rpartition("<User Question>")[2].partition("<Output>")[0].strip()
    return json.dumps({"items": [{"sub_question": asked, "tool_name": tool} for tool in tools]})


def _query_spec(prompt: str) -> str:
    asked = prompt.rpartition("User Query:")[2].partition("Structured Request:")[0].strip()
    return "```json\n" + json.dumps({"query": asked, "filters": [], "top_k": None}) + "\n```"


def _beginning(prompt: str) -> str:
    return prompt.split("---------------------")[1].strip()[:300]


def _instance(prompt: str, schema: Json) -> Json:
    """Fill the forms that the classes ask for."""
    fields = set(schema.get("properties", {}))
    if fields == {"documents"}:
        texts = re.split(r"Document \d+:\n", prompt)[1:]
        ranked = _ranked(_question(prompt), texts)
        return {"documents": [{"document_number": at, "relevance": min(10, 1 + shared)} for at, shared in ranked]}
    raise AssertionError(f"no answer to a form with {sorted(fields)}")


_REPLIES: dict[str, Callable[[str], str]] = {
    "Respond with the numbers of the documents": _chosen_documents,
    "Rank the": _permutation,
    "KEYWORDS: <keywords>": _keywords,
    "Some choices are given below": _choice,
    "Output Mapping": _masked,
    "<User Question>": _sub_questions,
    "Structured Request:": _query_spec,
    "return PREVIOUS or NEXT or NONE": lambda _: "NEXT",
    "Describe what the provided text is about": _beginning,
}
"""The first of these texts that a prompt holds says what is asked."""
