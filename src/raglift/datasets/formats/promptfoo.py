"""promptfoo: tests of a configuration, and results, with what their `context-recall` assertions ask for."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import yaml

from raglift.base.strict_files import parse_list_or_object, parse_object, read_text, stream_lines
from raglift.base.validation import Location, nearest, shown
from raglift.datasets.documents import LINES_SUFFIXES, read_documents
from raglift.datasets.formats.capabilities import Capabilities
from raglift.datasets.formats.plain_yaml import read_plain_yaml
from raglift.datasets.formats.records import named_path
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
_TEMPLATES = "#/assertionTemplates/"
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
        path: the file: YAML, JSON, or results as JSON Lines.
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
    reader = _Reader((named,) if named else _QUESTIONS)
    distinct: dict[tuple[str, tuple[Any, ...]], None] = {}
    for here, test in _tests(path, location):
        query = reader.read(test, here)
        if query is not None:
            distinct.setdefault(query, None)
    if distinct and not reader.assertions and not faults:
        location.fault(f"no assertion of type {RECALL}", f"tests that assert {RECALL} with a value")
    queries = tuple(Query(f"q{number}", text, facts) for number, (text, facts) in enumerate(distinct, start=1))
    return queries, read_documents(documents)


def _tests(path: Path, location: Location) -> Iterator[tuple[Location, Any]]:
    """Yield each test, with its line where the file has lines; what all tests share is part of each."""
    if path.suffix.lower() in LINES_SUFFIXES:
        for here, line in stream_lines(path, location):
            result = parse_object(line, here)
            if result is not None:
                yield here / "testCase", result.get("testCase")
        return
    value, lines = _whole(path, location)
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
        here = (here / "tests" if isinstance(value, dict) else here) / index
        yield here, _with_defaults(test, value) if isinstance(value, dict) else test


def _whole(path: Path, location: Location) -> tuple[Any, dict[int, int]]:
    """Return what a file holds, and the line of each test in YAML; None, and a fault, where it holds nothing."""
    text = read_text(path, location)
    if text is None or path.suffix.lower() not in (".yaml", ".yml"):
        return None if text is None else parse_list_or_object(text, location), {}
    found = read_plain_yaml(text, location)
    if found is None:
        return None, {}
    value, root = found
    if value is None:
        location.fault("null", "tests, as promptfoo has them")
    return value, _lines_of_tests(root)


def _with_defaults(test: Any, configuration: Mapping[str, Any]) -> Any:
    """Return a test with the variables and assertions of `defaultTest`, and its own references written out."""
    default = configuration.get("defaultTest")
    if not isinstance(test, dict):
        return test
    given = dict(test)
    if isinstance(default, dict):
        variables = [each for each in (default.get("vars"), test.get("vars")) if isinstance(each, dict)]
        if variables and isinstance(test.get("vars", {}), dict):
            given["vars"] = {name: value for each in variables for name, value in each.items()}
        shared, own = default.get("assert"), test.get("assert") or []
        if isinstance(shared, list) and isinstance(own, list):
            given["assert"] = [*own, *shared]
    return _written_out(given, configuration.get("assertionTemplates"))


def _written_out(test: dict[str, Any], templates: Any) -> dict[str, Any]:
    """Return a test whose assertions are written out where they refer to `assertionTemplates`."""
    asserted = test.get("assert")
    if not isinstance(asserted, list) or not isinstance(templates, dict):
        return test
    return {**test, "assert": [_referred(each, templates) for each in asserted]}


def _referred(assertion: Any, templates: Mapping[str, Any]) -> Any:
    """Return the template that an assertion refers to; the assertion where it refers to none."""
    name = assertion.get("$ref") if isinstance(assertion, dict) else None
    return templates.get(name.removeprefix(_TEMPLATES), assertion) if isinstance(name, str) else assertion


def _lines_of_tests(root: yaml.Node) -> dict[int, int]:
    """Return the line of each test of a YAML document."""
    tests: yaml.Node | None = root
    if isinstance(root, yaml.MappingNode):
        tests = next((inner for name, inner in root.value if name.value == "tests"), None)
    nodes = tests.value if isinstance(tests, yaml.SequenceNode) else []
    return {index: node.start_mark.line + 1 for index, node in enumerate(nodes)}


class _Reader:
    """What is read of tests, and how many assertions there were."""

    def __init__(self, questions: Sequence[str]) -> None:
        self._questions = questions
        self.assertions = 0
        """How many context-recall assertions there were."""

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
            expected = f"the question in {' or '.join(self._questions)}; or its name: {named_path('query', 'name')}"
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
            if not isinstance(each, dict):
                continue  # promptfoo also has texts here, as file://checks.yaml: of other kinds
            if "$ref" in each:
                expected = "an assertion, or one of the file's assertionTemplates"
                (here / index / "$ref").fault(shown(each["$ref"]), expected)
                continue
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
