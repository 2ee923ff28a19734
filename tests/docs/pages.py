"""The documentation as what can be checked: pages, their fences, and the comments that stand before them.

Code is in fences with a language. The Python of a page runs from top to bottom in one namespace, as a reader would
paste it. A `text` fence right below it is what it printed; a line of … alone stands for lines that are left out. A
comment right before a fence says where this does not hold, and why:

    <!-- not run: it needs a PostgreSQL -->
    <!-- not compared: the last digits depend on the processor -->

A file, of Python or of another language, is written, and not run:

    <!-- file: my_rag.py -->

An expression with a comment `# → 0.5` has that value. What a reader need not see, such as files that an example reads
or a check of what it did, is Python in a comment; it runs where it stands:

    <!-- not shown:
    from pathlib import Path
    -->
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from raglift.retrieval.onnx_files import onnx_identity

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
EMBEDDED = re.compile(r"cross-encoder|bge-small|dense|hybrid|build_retriever|raglift\.integrations")
"""What in a page says that the embedded models compute what it shows."""
LANGUAGES = {"console", "go", "java", "json", "python", "sh", "text", "typescript", "yaml"}

_COMMENT = re.compile(r"<!-- (not run|not compared|file): (.+?) -->\s*", re.DOTALL)
_NOT_SHOWN = re.compile(r"<!-- not shown:\n(.+?)-->\s*", re.DOTALL)
_VALUE = re.compile(r"^( *)(\S.*?)  # → (.+)$", re.MULTILINE)
_CODE = re.compile(r"\braglift \w|\brl\.|\bimport |\bpython \w")
_SHORTEST_REASON = 15


@dataclass(frozen=True)
class Block:
    """A fence."""

    language: str
    """What is behind its opening marks."""
    text: str
    """What is in it; of a comment, the Python that is not shown."""
    line: int
    """The line of its first line, from 1."""
    excuse: tuple[str, str] | None
    """What the comment before it says: `not run` or `not compared` and why, or `file` and its name."""
    follows: Block | None
    """The fence right above it, with nothing between but a comment."""


@dataclass(frozen=True)
class Page:
    """A Markdown file."""

    path: Path
    """Where it is."""
    blocks: tuple[Block, ...]
    """Its fences and its comments with Python, in order."""
    indented: tuple[int, ...]
    """The lines at which Python or commands stand that are in no fence, from 1."""

    def of(self, *languages: str) -> list[Block]:
        """The fences in some languages."""
        return [block for block in self.blocks if block.language in languages]

    @property
    def python(self) -> list[Block]:
        """The fences that run or are written to a file, and the comments with Python that is not shown."""
        runs = [block for block in self.blocks if block.language in ("python", "not shown") or excused(block, "file")]
        return [block for block in runs if not excused(block, "not run")]

    def output(self, block: Block) -> Block | None:
        """The fence with what a block printed, if it is to be compared."""
        shown = (other for other in self.of("text") if other.follows is block and not excused(other, "not compared"))
        return next(shown, None)


def excused(block: Block, what: str) -> bool:
    """Whether the page says that a block is not run, or not compared."""
    return block.excuse is not None and block.excuse[0] == what


def read_page(path: Path) -> Page:
    """Read a page."""
    blocks: list[Block] = []
    indented: list[int] = []
    excuse: tuple[str, str] | None = None
    above: Block | None = None
    for token in MarkdownIt("commonmark").parse(path.read_text(encoding="utf-8")):
        if token.type == "fence":
            above = Block(token.info.strip(), token.content, token.map[0] + 2, excuse, above)
            blocks.append(above)
            excuse = None
        elif token.type == "html_block" and (comment := _COMMENT.fullmatch(token.content)):
            excuse = comment[1], comment[2]
        elif token.type == "html_block" and (hidden := _NOT_SHOWN.fullmatch(token.content)):
            blocks.append(Block("not shown", hidden[1], token.map[0] + 2, None, None))
        else:
            excuse, above = None, None
            if token.type == "code_block" and _CODE.search(token.content):
                indented.append(token.map[0] + 1)
    return Page(path, tuple(blocks), tuple(indented))


def faults(page: Page) -> list[str]:
    """What keeps a page's code from being checked, each with its line."""
    found = [f"line {line}: code that is indented and in no fence" for line in page.indented]
    for block in page.blocks:
        if block.language not in LANGUAGES | {"not shown"}:
            found.append(f"line {block.line}: the language {block.language!r}; expected one of {sorted(LANGUAGES)}")
        if block.excuse and block.excuse[0] != "file" and len(block.excuse[1]) < _SHORTEST_REASON:
            found.append(f"line {block.line}: no reason why it is {block.excuse[0]}")
    return found


def runnable(block: Block) -> str:
    """Return a block's Python, with each expression that has a comment `# → value` checked against it.

    For a block that is a file, Python that writes it.
    """
    if excused(block, "file"):
        return f"from pathlib import Path; Path({block.excuse[1]!r}).write_text({block.text!r}, encoding='utf-8')"
    return _VALUE.sub(lambda found: f"{found[1]}assert repr(_ := ({found[2]})) == {found[3].strip()!r}, _", block.text)


def differing(shown: str, printed: str) -> str | None:
    """Say where what was printed is not what the page shows; None if it is.

    Trailing spaces do not count, and a space may stand for one that does not break. A line of … alone stands for any
    lines, also at the end.
    """
    wanted = [line.rstrip() for line in shown.strip("\n").splitlines()]
    pattern = "\n".join(r"(?:.*\n)*?.*" if line == "…" else re.escape(line) for line in wanted)
    lines = [line.rstrip() for line in printed.replace("\xa0", " ").strip("\n").splitlines()]
    if re.fullmatch(pattern, "\n".join(lines)):
        return None
    missing = next((line for line in wanted if line != "…" and line not in lines), wanted[0])
    return f"the page shows {missing!r}; printed was\n" + "\n".join(lines)


def differ(page: Page, shown: str, printed: str) -> str | None:
    """Compare what a page shows with what was printed: word by word.

    But for figures of the embedded models where the processor's 8-bit sums saturate: on x86 without VNNI.
    """
    if onnx_identity("bge-small").endswith(":x86_64") and EMBEDDED.search(page.path.read_text(encoding="utf-8")):
        return None
    return differing(shown, printed)
