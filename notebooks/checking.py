"""What is wrong with a notebook's outputs, and how those of two runs differ.

Words must be the same, and numbers nearly: another processor gives other last bits of what models compute. A number
may differ by 0.005, by one part in a hundred, or by one in its last digit shown, whichever is most; whole numbers
below 100 may not differ. Durations are not compared (“12 s”, “3.5 ms”), nor is any number of a cell with the tag
`durations`. Of a picture it is compared that there is one.
"""

from __future__ import annotations

import getpass
import re
import socket
import sys
from html.parser import HTMLParser
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbformat import NotebookNode

NUMBER = re.compile(r"(?<![\w.])[+\-−]?\d+(?:,\d{3})*(?:\.\d+)?(?!\w|\.\d)")
DURATION = re.compile(r"\d[\d,.]*\s?(?:µs|ms|s|min|h|seconds?|minutes?|hours?)\b")
ABSOLUTE_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|work|usr|var|opt|mnt|srv|Users|private)/\S*|\b[A-Z]:\\\S*")
INDEX_TIME = re.compile(r", built in \(duration\)| \(build time unknown: [\d,]+ of [\d,]+ embeddings were cached\)")
RULE = re.compile(r"[─━═\-]{3,}")
LARGEST_FILE = 1_000_000  # bytes: what is larger, GitHub is slow to show


def faults(notebook: NotebookNode) -> list[str]:
    """Return what a committed notebook must not have, one sentence each; none if it is as it should be."""
    return [*_order(notebook), *_outputs(notebook), *_prose(notebook)]


def _order(notebook: NotebookNode) -> Iterator[str]:
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    if counts != list(range(1, len(counts) + 1)):
        yield f"not run from top to bottom in a fresh kernel: the cells' numbers are {counts}"


def _outputs(notebook: NotebookNode) -> Iterator[str]:
    private = {name for name in (socket.gethostname(), getpass.getuser(), sys.prefix) if name}
    names = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(private)))
    shown = 0
    for number, cell in _code(notebook):
        for output in cell.outputs:
            shown += 1
            if output.output_type == "error":
                yield f"cell {number}: failed with {output.ename}: {output.evalue}"
            if output.output_type == "stream" and output.name != "stdout":
                yield f"cell {number}: wrote to {output.name}: {output.text[:200]!r}"
            for kind, text in texts(output):
                for found in [*ABSOLUTE_PATH.findall(text), *names.findall(text)]:
                    yield f"cell {number}: {kind} tells of the machine: {found!r}"
    if not shown:
        yield "no cell has an output"


def _prose(notebook: NotebookNode) -> Iterator[str]:
    """Yield the decimal numbers of the explanations that no output shows: they are of another run."""
    shown = " ".join(text for _, cell in _code(notebook) for output in cell.outputs for _, text in texts(output))
    values = [abs(_value(number)) for number in NUMBER.findall(shown)]
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        for number in NUMBER.findall(re.sub(r"\$.*?\$|`[^`]*`", " ", cell.source, flags=re.DOTALL)):
            decimals = _decimals(number)
            wanted = abs(_value(number))
            if decimals >= 2 and not any(abs(value - wanted) <= 0.5001 * 10**-decimals for value in values):
                yield f"the explanations say {number}, which no output shows"


def differences(committed: NotebookNode, run: NotebookNode) -> list[str]:
    """Return where the outputs of a run differ from the committed ones, one sentence each.

    Args:
        committed: the notebook as it is kept.
        run: the same notebook, run again.
    """
    found = []
    for (number, before), (_, after) in zip(_code(committed), _code(run), strict=True):
        durations = "durations" in before.metadata.get("tags", ())
        pieces = [[piece for output in cell.outputs for piece in texts(output)] for cell in (before, after)]
        for (kind, old), (new_kind, new) in zip_longest(*pieces, fillvalue=("nothing", "")):
            difference = f"{kind} became {new_kind}" if kind != new_kind else _difference(old, new, durations=durations)
            if difference:
                found.append(f"cell {number}: {difference}")
    return found


def texts(output: NotebookNode) -> list[tuple[str, str]]:
    """Return what can be read in an output: kind and text; a picture has none."""
    if output.output_type == "stream":
        return [(output.name, output.text)]
    if output.output_type == "error":
        return [("error", "\n".join([output.ename, output.evalue]))]
    return [(kind, _readable(kind, "".join(text))) for kind, text in sorted(output.data.items()) if text]


def _readable(kind: str, text: str) -> str:
    if kind.startswith("image/"):
        return ""
    if kind == "text/html":
        words = _Words()
        words.feed(text)
        return " ".join(words.found)
    return text


class _Words(HTMLParser):
    """Collects the text of a page, without its style."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.in_style = False

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.in_style = self.in_style or tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self.in_style = self.in_style and tag != "style"

    def handle_data(self, data: str) -> None:
        if not self.in_style and data.strip():
            self.found.append(data.strip())


def _difference(old: str, new: str, *, durations: bool) -> str:
    old, new = _comparable(old), _comparable(new)
    old_words, new_words = (NUMBER.sub("#", text).split() for text in (old, new))
    for before, after in zip_longest(old_words, new_words, fillvalue="(end)"):
        if before != after:
            return f"found {after!r}; expected {before!r}, in {_around(new_words, after)!r}"
    if durations:
        return ""
    for before, after in zip(NUMBER.findall(old), NUMBER.findall(new), strict=True):
        if not _near(before, after):
            return f"found {after}; expected {before}, in {_around(new.split(), after)!r}"
    return ""


def _comparable(text: str) -> str:
    """Return a text without durations and alignment; an index is timed only where its vectors are computed anew."""
    return RULE.sub("─", INDEX_TIME.sub("", DURATION.sub("(duration)", " ".join(text.split()))))


def _near(before: str, after: str) -> bool:
    old, new = _value(before), _value(after)
    if "." not in before + after and abs(old) < 100:
        return old == new
    return abs(old - new) <= max(0.005, 0.01 * abs(old), 1.001 * 10.0 ** -_decimals(before))


def _value(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))


def _decimals(number: str) -> int:
    return len(number.partition(".")[2])


def _around(words: list[str], word: str) -> str:
    place = next((place for place, other in enumerate(words) if word in other), len(words))
    return " ".join(words[max(0, place - 6) : place + 6])


def _code(notebook: NotebookNode) -> list[tuple[int, NotebookNode]]:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return list(enumerate(cells, start=1))
