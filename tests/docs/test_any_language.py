"""The programs of the page on other languages write files that are scored, where their languages are installed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from raglift.datasets.loading import load_dataset
from raglift.storage.rankings.hits import read_hits

from .pages import ROOT, read_page

pytestmark = pytest.mark.slow

PAGE = read_page(ROOT / "docs" / "how-to" / "any_language.md")
TEXT = 'He said: "at dusk" \\ \t — été'
QUOTED = json.dumps(TEXT)
SEARCH = {
    "typescript": f"export const search = async (question) => [{QUOTED}, question];",
    "go": f"package main\nfunc search(question string) []string {{ return []string{{{QUOTED}, question}} }}",
    "java": "class Search { static java.util.List<String> search(String question) {"
    f" return java.util.List.of({QUOTED}, question); }} }}",
}
FILES = {
    "typescript": ("hits.mjs", "search.mjs"),
    "go": ("hits.go", "search.go"),
    "java": ("WriteHits.java", "Search.java"),
}
COMMANDS = {
    "typescript": [["node", "hits.mjs"]],
    "go": [["go", "run", *FILES["go"]]],
    "java": [["javac", "-encoding", "UTF-8", *FILES["java"]], ["java", "WriteHits"]],
}


@pytest.mark.parametrize("language", COMMANDS)
def test_a_program_writes_hits_that_are_read(tmp_path: Path, language: str) -> None:
    if shutil.which(COMMANDS[language][0][0]) is None:
        pytest.skip(f"{language} is not installed")
    questions = ['When is "it" lit?', "Où?"]
    (block,) = PAGE.of(language)
    for name, source in zip(FILES[language], (block.text, SEARCH[language]), strict=True):
        (tmp_path / name).write_text(source, encoding="utf-8")
    labels = [json.dumps({"question": question, "passages": ["at dusk"]}) for question in questions]
    (tmp_path / "questions.txt").write_text("\n".join(questions), encoding="utf-8")
    (tmp_path / "labels.jsonl").write_text("\n".join(labels), encoding="utf-8")
    for command in COMMANDS[language]:
        subprocess.run(command, cwd=tmp_path, check=True)
    found = read_hits(tmp_path / "hits.jsonl", load_dataset(tmp_path / "labels.jsonl"))
    assert [[hit.chunk.text for hit in ranking] for ranking in found.rankings.values()] == [
        [TEXT, question] for question in questions
    ]
