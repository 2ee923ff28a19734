"""promptfoo: tests of a configuration, and results, with what their `context-recall` assertions ask for."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import yaml

from raglift.base.strict_files import parse_list_or_object, read_text
from raglift.base.validation import Location, nearest, shown
from raglift.datasets.documents import read_documents
from raglift.datasets.formats.capabilities import Capabilities
from raglift.errors import ConfigurationError
from raglift.records.labels import Passage, Query, distinct_facts
from raglift.records.parsing import read_string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from raglift.datasets.documents import DocumentSource
    from raglift.errors import Fault
    from raglift.records.dataset import Dataset
    from raglift.records.documents import Document


RECALL = "context-recall"
"""The type of the assertions that are read."""
_QUESTIONS = ("query", "question", "user_input", "input", "prompt")
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_MOST_YAML_BYTES = 10_000_000
_MOST_ASSERTIONS = 100_000
"""More were not written by anybody: in YAML a few lines can stand for billions."""
_DEEPEST = 5


def _no_template(query: Query, location: Location) -> None:
    for text in (query.text, *(passage.text or "" for fact in query.facts for passage in fact.passages)):
        if "{{" in text or "{%" in text or text.startswith("file://"):
            location.fault(shown(text), "a text that promptfoo does not take for a template or a file")


CAPABILITIES = Capabilities(
    title="promptfoo",
    holds=lambda passage, _: passage.text is not None and passage.doc_id is None,
    form="a literal text",
    ids=False,
    also=_no_template,
)


def read_promptfoo(
    path: Path,
    faults: list[Fault],
    *,
    documents: DocumentSource = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries of a promptfoo configuration, a file of tests, or a file of results.

    The value of each `context-recall` assertion is a fact, as a literal text; a value `{{name}}` is that variable. The
    question is the variable `query`, or `question`. Tests with the same question and facts, as results have them for
    each prompt and provider, are one. The queries are q1, q2, ….

    Args:
        path: the file: YAML, or JSON.
        faults: where what is wrong is noted.
        documents: the source texts, of which the format has none.
        columns: the name of the variable with the question, as `{"query": "topic"}`.

    Raises:
        ConfigurationError: `columns` names something else.
    """
    for name, given in (columns or {}).items():
        if name != "query" or not isinstance(given, str):
            raise ConfigurationError(f"columns: found {name!r}: {given!r}; expected {nearest(name, ('query',))}")
    named = str((columns or {}).get("query") or "")
    location = Location(path.name, faults)
    reader = _Reader((named,) if named else _QUESTIONS, location)
    distinct: dict[tuple[str, tuple[Any, ...]], None] = {}
    for here, test in _tests(path, location):
        query = reader.read(test, here)
        if query is not None:
            distinct.setdefault(query, None)
        if reader.is_full:
            break
    if distinct and not reader.assertions and not faults:
        location.fault(f"no assertion of type {RECALL}", f"tests that assert {RECALL} with a value")
    queries = tuple(Query(f"q{number}", text, facts) for number, (text, facts) in enumerate(distinct, start=1))
    return queries, read_documents(documents)


def _tests(path: Path, location: Location) -> Iterator[tuple[Location, Any]]:
    """Yield each test, with its line where the file is YAML."""
    lines: dict[int, int] = {}
    text = read_text(path, location)
    if text is None:
        return
    if path.suffix.lower() in (".yaml", ".yml"):
        value, lines = _from_yaml(text, location)
    else:
        value = parse_list_or_object(text, location)
    if value is None:
        return
    results = value.get("results") if isinstance(value, dict) else None
    if isinstance(results, dict) and isinstance(results.get("results"), list):
        for index, result in enumerate(results["results"]):
            here = location / "results" / "results" / index
            yield here / "testCase", result.get("testCase") if isinstance(result, dict) else result
        return
    tests = value.get("tests") if isinstance(value, dict) else value
    if not isinstance(tests, list):
        expected = "a list of tests, or an object with tests or results, as promptfoo has them"
        location.fault(
            shown(tests if tests is not None else value), f"{expected}; tests in another file are read there"
        )
        return
    for index, test in enumerate(tests):
        here = location if index not in lines else location.at_line(lines[index])
        yield (here / "tests" if isinstance(value, dict) else here) / index, test


def _from_yaml(text: str, location: Location) -> tuple[Any, dict[int, int]]:
    """Return the value of a YAML document, of plain values alone, and the line of each test."""
    if len(text) > _MOST_YAML_BYTES:
        location.fault(f"{len(text):,} characters of YAML", f"at most {_MOST_YAML_BYTES:,}; larger files as JSON")
        return None, {}
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        loader = yaml.SafeLoader("")
        value = None if root is None else loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = ", ".join(part for part in (error.context, error.problem) if part)
        (location if mark is None else location.at_line(mark.line + 1)).fault(f"what is not YAML ({said})", "YAML")
        return None, {}
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, OverflowError) as error:
        location.fault(f"what is not YAML ({' '.join(str(error).split())[:100]})", "one document in YAML")
        return None, {}
    if value is None:
        location.fault("an empty file", "tests, as promptfoo has them")
        return None, {}
    tests = root
    if isinstance(root, yaml.MappingNode):
        tests = next((inner for name, inner in root.value if name.value == "tests"), None)
    nodes = tests.value if isinstance(tests, yaml.SequenceNode) else []
    return value, {index: node.start_mark.line + 1 for index, node in enumerate(nodes)}


class _Reader:
    """What is read of tests, and how much of it there was."""

    def __init__(self, questions: Sequence[str], location: Location) -> None:
        self._questions = questions
        self._location = location
        self.assertions = 0
        """How many context-recall assertions there were."""
        self._visited = 0

    @property
    def is_full(self) -> bool:
        """Whether there was more than is read."""
        return self._visited > _MOST_ASSERTIONS

    def read(self, test: Any, here: Location) -> tuple[str, tuple[Any, ...]] | None:
        """Return the question and the facts of a test; None, and a fault, where it has no question."""
        if not isinstance(test, dict):
            here.fault(shown(test), "an object with vars and assert")
            return None
        variables = test.get("vars")
        if not isinstance(variables, dict):
            (here / "vars").fault(shown(variables), "an object with the question")
            return None
        name = next((each for each in self._questions if each in variables), None)
        if name is None:
            expected = f"the question in {' or '.join(self._questions)}; or its name: columns={{'query': 'name'}}"
            (here / "vars").fault(shown(variables), expected)
            return None
        question = read_string(variables[name], here / "vars" / name)
        values = list(self._values(test.get("assert"), variables, here / "assert", 0))
        return None if question is None else (question, distinct_facts((Passage(text),) for text in values))

    def _values(self, asserted: Any, variables: Mapping[str, Any], here: Location, depth: int) -> Iterator[str]:
        """Yield what the assertions ask for, also those in sets of assertions."""
        if not isinstance(asserted, list):
            if asserted is not None:
                here.fault(shown(asserted), "a list of assertions")
            return
        for index, each in enumerate(asserted):
            self._visited += 1
            if self.is_full:
                if self._visited == _MOST_ASSERTIONS + 1:
                    self._location.fault(f"more than {_MOST_ASSERTIONS:,} assertions", "fewer")
                return
            if not isinstance(each, dict):
                continue  # promptfoo also has texts here, as file://checks.yaml: of other kinds
            if each.get("type") == "assert-set" and depth < _DEEPEST:
                yield from self._values(each.get("assert"), variables, here / index / "assert", depth + 1)
            elif each.get("type") == RECALL:
                self.assertions += 1
                text = _resolve(each.get("value"), variables, here / index / "value")
                if text is not None:
                    yield text


def _resolve(value: Any, variables: Mapping[str, Any], here: Location) -> str | None:
    """Return the text that a value stands for."""
    text = read_string(value, here)
    if text is None:
        return None
    variable = _VARIABLE.fullmatch(text.strip())
    if variable is not None and variable[1] in variables:
        return read_string(variables[variable[1]], here)
    if "{{" in text or "{%" in text or text.startswith("file://"):
        here.fault(shown(text), "a text, or one variable of the test as {{name}}")
        return None
    return text


def write_promptfoo(dataset: Dataset, path: Path) -> None:
    """Write a list of tests as JSON, which is YAML too.

    Args:
        dataset: what fits `CAPABILITIES`.
        path: the file.
    """
    tests = [
        {
            "vars": {"query": query.text},
            "assert": [{"type": RECALL, "value": fact.passages[0].text} for fact in query.facts],
        }
        for query in dataset.queries
    ]
    path.write_text(json.dumps(tests, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")
