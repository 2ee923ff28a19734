"""How well are labels carried to another version of the documents, by the truth that git has?

    python benchmarks/label_updates.py REPOSITORY A B [--paths GLOB ...] [--labels 3000] [--show edited 100]

Every paragraph of the documentation at commit A is a label. It is followed line by line through the first parents from
A to B, since one diff of both ends takes a rewrapped paragraph for a new one, and a moved one for a deleted one:

- live: it is at one place, the same but for white space, wrapping, quotation marks, the numbers of headings and
  lists, and the languages of code fences. There may be copies if git says which place is its own: by the lines that
  were not touched, or of several that one commit added by the lines around them.
- edited: some of its lines are left. Its successor is where they are.
- reworded: no line is left, but similar ones replaced its lines. They are its successor.
- gone: nothing is left.
- several: one commit removed it and added it at several places, and the lines around them do not say which.

Two classes are counted apart, since both ends do not show them:

- returned: removed, and put back word for word by a later commit.
- copied: at one place at each end, but copied there before a later commit removed or edited it.

A new place is right if it has the same words and overlaps the place that git says.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from itertools import islice, takewhile
from pathlib import Path

import numpy as np
from rapidfuzz import fuzz, process

from raglift.auditing.records import Place
from raglift.types import Dataset, Document, Fact, Passage, Query
from raglift.updating import update_labels
from raglift.updating.records import CERTAIN

ENDINGS = ("md", "mdx", "qmd", "rst", "txt", "adoc")
NOT_DOCUMENTATION = ("**/.*/**", ".*/**", "**/*lock*", "**/licen[cs]e*", "**/requirements*.txt", "**/constraints*.txt")
CLASSES = ("live", "edited", "reworded", "gone", "several", "returned", "copied")
JUDGED = CLASSES[:5]
LEAST_LETTERS = 20
"""Of a paragraph, and of a line that is recognized at another place."""
LEFT_LETTERS = 10
"""So many letters the lines that are left of an edited paragraph have at least."""
SIMILAR = 70.0
"""The least rapidfuzz ratio of a line to the one that replaced it."""
AROUND = 200
"""So many lines before a change a paragraph may begin that the change completes."""
CONTEXT = 5
"""So many lines before and after a paragraph say which of several places is its own."""
IN_PLACE = 3
"""So many lines around a place count as much as that it is where the paragraph was."""
NEAREST = 90.0
"""The least ratio from which the naive baseline is certain."""
CHUNK = 1000


# The same text: the foldings.

_QUOTES = str.maketrans(dict.fromkeys("\"'`´‘’‚‛“”„‟‹›«»", '"') | {"`": "`", "\u200b": "", "\ufeff": ""})


@cache
def fold_line(line: str) -> str:
    """Return what of a line has to be the same at its new place."""
    words = " ".join(line.translate(_QUOTES).split())
    words = re.sub(r"^(#{1,6}) \d+(?:\.\d+)*[.)]? (?=\S)", r"\1 ", words)
    words = re.sub(r"^\d{1,3}[.)] ", "1. ", words)
    return re.sub(r"^(`{3,}|~{3,}) ?\{?\.?[\w+#-]*\}?", r"\1", words)


def fold(lines: Iterable[str]) -> str:
    """Return what of several lines has to be the same, however they are wrapped."""
    return " ".join(filter(None, map(fold_line, lines)))


def letters(text: str) -> int:
    """Return how many letters a text has."""
    return sum(map(str.isalpha, text))


def paragraphs(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return the lines of each paragraph, from the first to one past the last; a fenced code block is one."""
    found: list[tuple[int, int]] = []
    start, fence = -1, ""
    for number, line in enumerate([*lines, ""]):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence:
            if (mark and mark[1].startswith(fence) and not line.strip().strip(fence[0])) or number == len(lines):
                found.append((start, min(number + 1, len(lines))))
                start, fence = -1, ""
        elif mark or not line.strip():
            if start >= 0:
                found.append((start, number))
            start, fence = (number, mark[1]) if mark else (-1, "")
        elif start < 0:
            start = number
    return [(first, last) for first, last in found if letters(fold(lines[first:last])) >= LEAST_LETTERS]


# What git says: the changes of each commit.


@dataclass(frozen=True)
class Hunk:
    """Lines of a file that others replace: both from the first to one past the last."""

    old: tuple[int, int]
    new: tuple[int, int]
    removed: list[str]
    added: list[str]


@dataclass
class Change:
    """What a commit does to a file."""

    old: str | None = None
    new: str | None = None
    hunks: list[Hunk] = field(default_factory=list)

    def moved(self, line: int) -> int | None:
        """Return where a line is afterwards; None if it is removed."""
        shift = 0
        for hunk in self.hunks:
            if hunk.old[0] > line:
                break
            if line < hunk.old[1]:
                return None
            shift = hunk.new[1] - hunk.old[1]
        return line + shift

    def touching(self, start: int, end: int, beside: int = 0) -> list[Hunk]:
        """Return the hunks within a range of lines, or also those directly beside it."""
        return [each for each in self.hunks if each.old[1] > start - beside and each.old[0] < end + beside]


class Git:
    """A repository, and which files of it are documentation."""

    def __init__(self, folder: Path, globs: Sequence[str] = ()) -> None:
        self.folder = folder
        wanted = [f":(glob,icase)**/*.{each}" for each in ENDINGS]
        unwanted = [f":(exclude,glob,icase){each}" for each in NOT_DOCUMENTATION]
        self.paths = [f":(glob){each}" for each in globs] or [*wanted, *unwanted]

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start git, whose output and input are pipes."""
        command = ["git", "-C", str(self.folder), "-c", "core.quotePath=false", *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE)  # noqa: S603

    def output(self, *arguments: str, given: bytes = b"") -> bytes:
        """Return what git prints."""
        with self.start(*arguments) as git:
            found = git.communicate(given)[0]
        if git.returncode:
            raise SystemExit(f"git {arguments[0]} failed in {self.folder}")
        return found

    def commit(self, name: str) -> str:
        """Return the id of a commit."""
        return self.output("rev-parse", "--verify", f"{name}^{{commit}}").decode().strip()

    def files(self, commit: str) -> dict[str, list[str]]:
        """Return the lines of the documentation at a commit, by path."""
        empty = self.output("hash-object", "-t", "tree", "--stdin").decode().strip()
        raw = self.output("diff", "--raw", "-z", "--no-renames", "--abbrev=64", empty, commit, "--", *self.paths)
        fields = raw.decode("utf-8", "surrogateescape").split("\0")[:-1]
        entries = [(about.split(), path) for about, path in zip(fields[::2], fields[1::2], strict=True)]
        blobs = {path: about[3] for about, path in entries if about[1].startswith("100")}
        found = self.output("cat-file", "--batch", given="".join(f"{each}\n" for each in blobs.values()).encode())
        files, at = {}, 0
        for path in blobs:
            end = found.index(b"\n", at)
            size = int(found[at:end].split()[2])
            files[path] = lines_of(found[end + 1 : end + 1 + size])
            at = end + size + 2
        return files

    def history(self, a: str, b: str) -> Iterator[tuple[str, list[Change]]]:
        """Yield the id of each commit after A up to B, of first parents, and what it changes."""
        if a not in self.output("rev-list", "--first-parent", b).decode().split():
            raise SystemExit(f"{a} is not among the first parents of {b}; take one of git log --first-parent {b}")
        how = ["--first-parent", "--diff-merges=first-parent", "--reverse", "--format=%x00%H", "-p", "-U0"]
        how += ["-M", "-l0", "--histogram", "--text", "--no-color", "--no-ext-diff", "--no-textconv"]
        how += ["--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/", f"{a}..{b}", "--", *self.paths]
        with self.start("log", *how) as git:
            assert git.stdout is not None  # noqa: S101
            yield from read_log(git.stdout)


def lines_of(raw: bytes) -> list[str]:
    """Return the lines of a file without their ends."""
    return [line_of(each) for each in (raw.removesuffix(b"\n").split(b"\n") if raw else [])]


def line_of(raw: bytes) -> str:
    """Return a line without its end and a byte-order mark."""
    return raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace").removeprefix("\ufeff")


def path_of(raw: bytes) -> str:
    """Return a path that `git log` may have put in quotation marks."""
    raw = raw.removesuffix(b"\t")
    if raw.startswith(b'"'):
        raw = raw[1:-1].decode("unicode_escape").encode("latin-1")
    return raw.decode("utf-8", "surrogateescape")


_NAMES = re.compile(rb"(--- |\+\+\+ |rename from |rename to )(.*)")


def read_log(output: Iterable[bytes]) -> Iterator[tuple[str, list[Change]]]:
    """Yield the commits that `git log -p -U0` prints."""
    lines = iter(output)

    def take(mark: bytes, count: int) -> list[str]:
        taken: list[str] = []
        while len(taken) < count:
            if (line := next(lines)).startswith(mark):  # else it says that the file has no newline at its end
                taken.append(line_of(line[1:]))
        return taken

    commit, changes = "", [Change()]
    for line in lines:
        if line.startswith(b"\0"):
            if commit:
                yield commit, changes
            commit, changes = line[1:].decode().strip(), []
        elif line.startswith(b"diff --git "):
            changes.append(Change())
        elif line.startswith(b"@@ "):
            sides = [(int(each[1]), int(each[2] or 1)) for each in re.finditer(rb"[-+](\d+)(?:,(\d+))?", line)][:2]
            old, new = ((at - (count > 0), at - (count > 0) + count) for at, count in sides)
            removed, added = (take(mark, count) for mark, (_, count) in zip((b"-", b"+"), sides, strict=True))
            changes[-1].hunks.append(Hunk(old, new, removed, added))
        elif named := _NAMES.match(line):
            path: str | None = path_of(named[2])
            if named[1][:1] in b"-+":
                path = path[2:] if path != "/dev/null" else None
            if named[1] in (b"--- ", b"rename from "):
                changes[-1].old = path
            else:
                changes[-1].new = path
    if commit:
        yield commit, changes


# Every paragraph followed from commit to commit.

Line = tuple[str, int]
Range = tuple[str, int, int]


@dataclass(eq=False)
class Label:
    """A paragraph: where it was, and where it is now."""

    old: Range
    """Path and lines at A, as everywhere: from the first to one past the last."""
    key: str
    """Its folded text."""
    state: str = "live"
    """One of CLASSES."""
    place: Range | None = None
    """Where it is, if it is live or returned."""
    left: list[Line] = field(default_factory=list)
    """The lines that are left of it if it is edited, or that replaced its own if it is reworded."""
    events: list[str] = field(default_factory=list)
    """What happened to it, and in which commit."""
    copies: tuple[int, int] = (1, 1)
    """How often its text occurs at A and at B."""
    open: bool = False
    """Whether both ends alone do not say which of several places is its own."""

    @property
    def successor(self) -> Range | None:
        """Where it is, or the place of most of the lines that are left of it."""
        if self.place or not self.left:
            return self.place
        far = self.old[2] - self.old[1] + 10
        groups: list[list[Line]] = []
        for path, line in sorted(self.left):
            if groups and groups[-1][-1][0] == path and line - groups[-1][-1][1] <= far:
                groups[-1].append((path, line))
            else:
                groups.append([(path, line)])
        best = max(groups, key=len)
        return best[0][0], best[0][1], best[-1][1] + 1


class Page:
    """A file's folded text, in which paragraphs are looked for by whole lines."""

    def __init__(self, path: str, lines: Sequence[str]) -> None:
        folded = [(number, words) for number, line in enumerate(lines) if (words := fold_line(line))]
        self.path = path
        self.text = " ".join(words for _, words in folded)
        self.starts: list[tuple[int, int]] = []
        self.ends: dict[int, int] = {}
        at = 0
        for number, words in folded:
            self.starts.append((number, at))
            at += len(words) + 1
            self.ends[at - 1] = number + 1

    def find(self, keys: Mapping[str, list[str]], hunks: Sequence[Hunk] | None = None) -> Iterator[tuple[str, Range]]:
        """Yield the keys that stand in the text, at changed lines if hunks are given, and where.

        Args:
            keys: the keys by how they begin.
            hunks: what was changed.
        """
        starts: Iterable[tuple[int, int]] = self.starts
        if hunks is not None:
            bounds = [(each.new[0] - AROUND, max(each.new[1], each.new[0] + 1)) for each in hunks]
            ranges = [range(bisect_left(self.starts, (a, 0)), bisect_left(self.starts, (b, 0))) for a, b in bounds]
            starts = [self.starts[each] for each in sorted(set().union(*ranges))]
        for number, at in starts:
            for key in keys.get(self.text[at : at + LEAST_LETTERS], ()):
                end = self.ends.get(at + len(key))
                if end and self.text.startswith(key, at):
                    if hunks is None or any(_changes(each, number, end) for each in hunks):
                        yield key, (self.path, number, end)


def _changes(hunk: Hunk, start: int, end: int) -> bool:
    """Return whether some of a hunk's new lines, or where it removed some, are within a range of lines."""
    return start < hunk.new[1] and hunk.new[0] < end if hunk.added else start < hunk.new[0] < end


Context = tuple[list[str], list[str]]


def context(lines: Sequence[str], start: int, end: int) -> Context:
    """Return the lines before and after a range, folded, the nearest first."""
    before = filter(None, map(fold_line, reversed(lines[max(0, start - 4 * CONTEXT) : start])))
    after = filter(None, map(fold_line, lines[end : end + 4 * CONTEXT]))
    return list(islice(before, CONTEXT)), list(islice(after, CONTEXT))


def alike(one: Context, other: Context) -> int:
    """Return how many lines directly before and after are the same."""
    return sum(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*sides))) for sides in zip(one, other))


@dataclass(eq=False)
class Touched:
    """A label whose lines a commit changed, and what is left of it."""

    label: Label
    path: str | None
    """The new name of its file, if it was whole, and the file is still there."""
    around: Context | None = None
    """The lines around it before, if it was whole."""
    lost: list[Line] = field(default_factory=list)
    """The lines that were removed, with their old numbers."""
    kept: list[Line] = field(default_factory=list)
    """The others, with their new numbers."""
    near: list[Range] = field(default_factory=list)
    """Where in the new files its lines are, or what replaced them."""

    def is_near(self, place: Range) -> bool:
        """Return whether a place is where the lines were."""
        return any(place[0] == path and place[1] <= end and place[2] >= start for path, start, end in self.near)

    def score(self, place: Range, around: Context) -> int:
        """Return how much speaks for a place: where the label was, and the lines around it."""
        return IN_PLACE * self.is_near(place) + alike(self.around or ([], []), around)


def paired(
    labels: Sequence[Touched], places: Mapping[Range, Context], *, in_order: bool
) -> Iterator[tuple[Touched, Range]]:
    """Yield the labels whose place is clear: each is the best for the other.

    Args:
        labels: labels of the same text, in the order of the old file.
        places: where the text is now, with the lines around it.
        in_order: whether the rest are paired in their order if there are as many of both.
    """
    scores = {(each, place): each.score(place, around) for each in labels for place, around in places.items()}
    rest, free = list(labels), sorted(places)
    while True:
        rows = {each: sorted((scores[each, place] for place in free), reverse=True) for each in rest}
        columns = {place: sorted((scores[each, place] for each in rest), reverse=True) for place in free}
        best = [
            (each, place)
            for each in rest
            for place in free
            if all(scores[each, place] > other for other in (*rows[each][1:2], *columns[place][1:2]))
            and scores[each, place] == rows[each][0] == columns[place][0]
        ]
        if not best:
            break
        yield from best
        rest = [each for each in rest if each not in dict(best)]
        free = [place for place in free if place not in {place for _, place in best}]
    if in_order and len(rest) == len(free):
        yield from zip(rest, free, strict=True)


class Tracker:
    """All paragraphs of the documentation, and the files as of the commit that was read last."""

    def __init__(self, files: Mapping[str, list[str]]) -> None:
        self.tree = dict(files)
        self.labels: list[Label] = []
        self.by_path: dict[str, set[Label]] = defaultdict(set)
        self.by_key: dict[str, list[Label]] = defaultdict(list)
        for path, lines in files.items():
            for start, end in paragraphs(lines):
                label = Label((path, start, end), fold(lines[start:end]), place=(path, start, end))
                self.labels.append(label)
                self.by_path[path].add(label)
                self.by_key[label.key].append(label)
        self.keys: dict[str, list[str]] = defaultdict(list)
        for key in self.by_key:
            self.keys[key[:LEAST_LETTERS]].append(key)

    def read(self, commit: str, changes: Sequence[Change]) -> None:
        """Follow the labels through a commit."""
        by_old = {each.old: each for each in changes if each.old}
        before = {path: self.tree.get(path, []) for path in by_old}
        new = {each.new: patched(before.get(each.old or "", []), each.hunks) for each in changes if each.new}
        for path in by_old:
            self.tree.pop(path, None)
        self.tree.update(new)
        found: dict[str, set[Range]] = defaultdict(set)
        for change in changes:
            if change.new and change.hunks:
                for key, place in Page(change.new, new[change.new]).find(self.keys, change.hunks):
                    found[key].add(place)
        affected = set().union(*(self.by_path.pop(path, set()) for path in by_old))
        touched: dict[str, list[Touched]] = defaultdict(list)
        for label in affected:
            if each := self._followed(label, by_old, before, found.get(label.key, set())):
                touched[label.key].append(each)
        for key, places in found.items():
            touched[key] = self._placed(key, touched[key], places, commit)
        self._edited([each for several in touched.values() for each in several], changes, before, commit)
        for label in {*affected, *(label for key in found for label in self.by_key[key])}:
            for path in {each[0] for each in ([label.place] if label.place else label.left)}:
                self.by_path[path].add(label)

    def _followed(
        self, label: Label, by_old: Mapping[str, Change], before: Mapping[str, list[str]], places: set[Range]
    ) -> Touched | None:
        """Move a label that is untouched, and return what is left of one that is not.

        A diff keeps one of several copies, and not always the one that has the same lines around it: if the commit
        added some to its file, a label is as good as touched.
        """
        touched, lines = Touched(label, None), label.left
        if label.place:
            path, start, end = label.place
            change = by_old[path]
            touched.path, touched.around = change.new, context(before[path], start, end)
            lines = [(path, line) for line in range(start, end) if fold_line(before[path][line])]
            if change.new and not change.touching(start, end):
                shift = (change.moved(start) or 0) - start
                moved = (change.new, start + shift, end + shift)
                if all(place[0] != change.new for place in places - {moved}):
                    label.place = moved
                    return None
                places.add(moved)
        for path, line in lines:
            at = by_old[path].moved(line) if path in by_old else line
            name = by_old[path].new if path in by_old else path
            if at is None or name is None:
                touched.lost.append((path, line))
            else:
                touched.kept.append((name, at))
        for path in {path for path, _ in lines if path in by_old}:
            change, numbers = by_old[path], [line for each, line in lines if each == path]
            if change.new:
                ends = [each.new for each in change.touching(min(numbers), max(numbers) + 1, beside=1)]
                ends += [(line, line + 1) for each, line in touched.kept if each == change.new]
                if ends:
                    touched.near.append((change.new, min(a for a, _ in ends), max(b for _, b in ends)))
        return touched

    def _placed(self, key: str, touched: list[Touched], places: Iterable[Range], commit: str) -> list[Touched]:
        """Give labels of the same text their new places, and return those that have none."""
        touched = sorted(touched, key=lambda each: each.label.place or (*each.label.left[0], 0))
        free = {place: context(self.tree[place[0]], *place[1:]) for place in places}

        def put(each: Touched, place: Range | None) -> None:
            how = "several places" if not place else "reflowed" if each.is_near(place) else "moved"
            each.label.events.append(f"{commit[:10]} {how}")
            each.label.place, each.label.left = place, []
            each.label.state = "several" if not place else "live" if each.label.state != "returned" else "returned"
            touched.remove(each)

        whole = [each for each in touched if each.around]
        for path in sorted({each.path for each in whole if each.path}):
            here = {place: around for place, around in free.items() if place[0] == path}
            for each, place in paired([each for each in whole if each.path == path], here, in_order=True):
                put(each, place)
                del free[place]
        for each in [each for each in touched if not each.around]:
            near = [place for place in free if each.is_near(place)]
            if len(near) == 1:
                put(each, near[0])
                del free[near[0]]
        lost = [each for each in touched if each.around and each.lost]
        one_file = len({each.label.place[0] for each in lost}) == 1 == len({path for path, *_ in free})
        for each, place in paired(lost, free, in_order=one_file):
            put(each, place)
            del free[place]
        for each in [each for each in touched if each.around]:
            still = each.kept and fold(self.tree[each.path or ""][each.kept[0][1] : each.kept[-1][1] + 1]) == key
            if still or (each.lost and free):
                put(each, next(iter(free)) if len(free) == 1 else None)
        if len(free) == 1 and not lost:
            for label in self.by_key[key]:
                if label.state == "gone":
                    label.place, label.state = next(iter(free)), "returned"
                    label.events.append(f"{commit[:10]} returned")
        return touched

    def _edited(
        self, touched: list[Touched], changes: Sequence[Change], before: Mapping[str, list[str]], commit: str
    ) -> None:
        """Find what is left of labels whose whole text is nowhere."""
        added: dict[str, list[Line]] = defaultdict(list)
        removed: Counter[str] = Counter()
        for change in changes:
            for hunk in change.hunks:
                removed.update(map(fold_line, hunk.removed))
                for line, text in enumerate(hunk.added, hunk.new[0]):
                    added[fold_line(text)].append((change.new or "", line))
        for each in touched:
            label, left = each.label, list(each.kept)
            if label.left and not each.lost:
                label.left = left
                continue
            for path, line in each.lost:
                words = fold_line(before[path][line])
                near = [spot for spot in added[words] if each.is_near((spot[0], spot[1], spot[1] + 1))]
                spots = near if len(near) == 1 else added[words] if removed[words] == 1 else []
                if len(spots) == 1 and letters(words) >= LEAST_LETTERS:
                    left.append(spots[0])
            if sum(letters(self.tree[path][line]) for path, line in left) >= LEFT_LETTERS:
                label.state = "reworded" if label.state == "reworded" else "edited"
            else:
                left = [spot for lost in each.lost if (spot := similar(lost, changes, before))]
                label.state = "reworded" if left else "gone"
            label.place, label.left = None, sorted(set(left))
            label.events.append(f"{commit[:10]} {label.state}")


def patched(lines: Sequence[str], hunks: Iterable[Hunk]) -> list[str]:
    """Return a file's lines after a change."""
    result: list[str] = []
    at = 0
    for hunk in hunks:
        result += [*lines[at : hunk.old[0]], *hunk.added]
        at = hunk.old[1]
    return [*result, *lines[at:]]


def similar(lost: Line, changes: Sequence[Change], before: Mapping[str, list[str]]) -> Line | None:
    """Return the line that replaced another, if they are similar."""
    path, number = lost
    words = fold_line(before[path][number])
    change = next(each for each in changes if each.old == path)
    best, score = None, SIMILAR
    for hunk in change.touching(number, number + 1, beside=10) if change.new and letters(words) >= LEFT_LETTERS else ():
        for line, text in enumerate(hunk.added, hunk.new[0]):
            if (ratio := fuzz.ratio(words, fold_line(text))) >= score:
                best, score = (change.new or "", line), ratio
    return best


def followed(git: Git, a: str, b: str) -> tuple[list[Label], dict[str, list[str]], dict[str, list[str]]]:
    """Return the paragraphs at A with where they are at B, and the documents at both."""
    old, new = git.files(a), git.files(b)
    tracker = Tracker(old)
    for commit, changes in git.history(a, b):
        tracker.read(commit, changes)
    if broken := [path for path, lines in new.items() if tracker.tree.get(path, []) != lines]:
        raise SystemExit(f"the changes do not lead to {b}: {broken[:5]}")
    at_ends: list[dict[str, dict[Range, Context]]] = []
    for files in (old, new):
        at_ends.append(defaultdict(dict))
        for path, lines in files.items():
            for key, place in Page(path, lines).find(tracker.keys):
                at_ends[-1][key][place] = context(lines, *place[1:])
    for label in tracker.labels:
        before, after = (each[label.key] for each in at_ends)
        label.copies = (len(before), len(after))
        if len(after) == 1 and (label.state == "several" or (len(before) == 1 and label.place is None)):
            label.state = "live" if label.state == "several" else "copied"
            label.place = next(iter(after))
        label.open = label.state == "live" and label.copies != (1, 1) and not is_clear(label, before, after)
    return tracker.labels, old, new


def is_clear(label: Label, before: Mapping[Range, Context], after: Mapping[Range, Context]) -> bool:
    """Return whether the lines around a label, or its order in its file, say which of its copies it has become."""
    assert label.place  # noqa: S101
    files = [
        [place for place in each if place[0] == path]
        for each, path in ((before, label.old[0]), (after, label.place[0]))
    ]
    in_order = len(files[0]) == len(files[1]) and sorted(files[0]).index(label.old) == sorted(files[1]).index(
        label.place
    )
    mine = alike(before[label.old], after[label.place])
    others = [alike(before[label.old], around) for place, around in after.items() if place != label.place]
    others += [alike(around, after[label.place]) for place, around in before.items() if place != label.old]
    return (in_order and label.old[0] == label.place[0]) or mine > max(others, default=-1)


# What is measured: for each label, where a way of carrying it says that it is.


@dataclass(frozen=True)
class Answer:
    """What a way of carrying labels says of one."""

    kind: str
    """Its own word for it."""
    place: Place | None = None
    """The new place that it writes without asking; None if it asks."""
    first: Place | None = None
    """The first place that it proposes if it asks."""
    contains: bool = False
    """Whether the place only has to contain the label's, as a chunk does."""


@dataclass(frozen=True)
class Case:
    """The labels that are carried, with the documents as they were and as they are."""

    labels: Sequence[Label]
    old: Mapping[str, list[str]]
    new: Mapping[str, list[str]]

    @cached_property
    def texts(self) -> tuple[dict[str, str], dict[str, str]]:
        """The documents of both versions by path, without those that are not text."""
        both = ({path: "\n".join(lines) for path, lines in each.items()} for each in (self.old, self.new))
        old, new = ({path: text for path, text in each.items() if not _BINARY.search(text)} for each in both)
        return old, new

    def span(self, place: Range, version: int) -> Place:
        """Return lines as characters, without the white space around them."""
        path, start, end = place
        lines = (self.old, self.new)[version][path]
        text = "\n".join(lines[start:end])
        first = sum(map(len, lines[:start])) + start + len(text) - len(text.lstrip())
        return Place(path, first, first + len(text.strip()))

    def text(self, place: Place, version: int) -> str:
        """Return the text of a place."""
        return self.texts[version][place.doc_id][place.start : place.end]

    def is_right(self, label: Label, answer: Answer) -> bool:
        """Return whether a label is where it is said to be: the same words, at the place that git says."""
        if answer.place is None or label.place is None or label.place[0] not in self.texts[1]:
            return False
        truth = self.span(label.place, 1)
        if answer.contains:
            return _overlap(truth, answer.place) == truth.end - truth.start
        return fold(self.text(answer.place, 1).split("\n")) == label.key and _overlap(truth, answer.place) > 0

    def is_near(self, label: Label, place: Place | None) -> bool:
        """Return whether a place overlaps the lines that are left of a label."""
        successor = label.successor
        return successor is not None and place is not None and _overlap(self.span(successor, 1), place) > 0


_BINARY = re.compile("[\0\ufffd]")


def _overlap(a: Place, b: Place) -> int:
    return max(0, min(a.end, b.end) - max(a.start, b.start)) if a.doc_id == b.doc_id else 0


def by_raglift(case: Case) -> list[Answer]:
    """Carry the labels with raglift."""
    old, new = ([Document(path, text) for path, text in each.items()] for each in case.texts)
    queries = []
    for number, label in enumerate(case.labels):
        place = case.span(label.old, 0)
        passage = Passage(case.text(place, 0), place.doc_id, place.start, place.end)
        queries.append(Query(f"{number:06}", f"question {number}", (Fact((passage,)),)))
    found = {each.query_id: each for each in update_labels(Dataset(tuple(queries), old), new).passages}
    return [
        Answer(
            each.kind,
            each.new_place if each.kind in CERTAIN else None,
            each.candidates[0].place if each.candidates else None,
        )
        for each in (found[query.id] for query in queries)
    ]


def by_exact_text(case: Case) -> list[Answer]:
    """Take the first occurrence of the same text, or else the nearest paragraph, which is certain from a ratio of 90."""
    new = case.texts[1]
    blocks = {path: [case.span((path, *lines), 1) for lines in paragraphs(case.new[path])] for path in new}
    texts = {path: [case.text(each, 1) for each in places] for path, places in blocks.items()}
    every = [each for path in new for each in blocks[path]], [each for path in new for each in texts[path]]
    answers = []
    for label in case.labels:
        text = case.text(case.span(label.old, 0), 0)
        own = label.old[0]
        for path in [own, *new] if own in new else new:
            if (at := new[path].find(text)) >= 0:
                answers.append(Answer("same text", Place(path, at, at + len(text))))
                break
        else:
            for places, among in ((blocks.get(own, []), texts.get(own, [])), every):
                if best := process.extractOne(text, among, scorer=fuzz.ratio, score_cutoff=SIMILAR):
                    place = places[best[2]]
                    certain = best[1] >= NEAREST
                    answers.append(Answer("nearest", place if certain else None, place))
                    break
            else:
                answers.append(Answer("nowhere"))
    return answers


def by_chunk_index(case: Case) -> list[Answer]:
    """Keep the numbers of the file's chunks of 1,000 characters that hold the label."""
    answers = []
    for label in case.labels:
        place = case.span(label.old, 0)
        start, length = place.start // CHUNK * CHUNK, len(case.texts[1].get(place.doc_id, ""))
        end = min((place.end - 1) // CHUNK * CHUNK + CHUNK, length)
        there = (place.end - 1) // CHUNK * CHUNK < length
        kept = Place(place.doc_id, start, end) if there else None
        answers.append(Answer("id exists" if there else "id is gone", kept, contains=True))
    return answers


def by_chunk_hash(case: Case) -> list[Answer]:
    """Keep the hashes of the chunks of 1,000 characters that hold the label."""
    new: dict[str, Place] = {}
    for path, text in case.texts[1].items():
        for start in range(0, len(text), CHUNK):
            new.setdefault(text[start : start + CHUNK], Place(path, start, min(start + CHUNK, len(text))))
    answers = []
    for label in case.labels:
        place = case.span(label.old, 0)
        text = case.texts[0][place.doc_id]
        first, last = place.start // CHUNK * CHUNK, (place.end - 1) // CHUNK * CHUNK
        kept = [new.get(text[start : start + CHUNK]) for start in range(first, last + 1, CHUNK)]
        there = all(kept) and len({each.doc_id for each in kept if each}) == 1
        ends = (kept[0], kept[-1]) if there else (None, None)
        joined = Place(ends[0].doc_id, ends[0].start, ends[1].end) if ends[0] and ends[1] else None
        answers.append(Answer("id exists" if joined else "id is gone", joined, contains=True))
    return answers


SYSTEMS: dict[str, Callable[[Case], list[Answer]]] = {
    "raglift": by_raglift,
    "exact text": by_exact_text,
    "chunk number": by_chunk_index,
    "chunk hash": by_chunk_hash,
}


# The figures.

Share = tuple[str, Callable[[Label], bool], Callable[[Case, Label, Answer], bool]]


def _is(*states: str) -> Callable[[Label], bool]:
    return lambda label: label.state in states


def _certain(case: Case, label: Label, answer: Answer) -> bool:
    return answer.place is not None


def _carried(case: Case, label: Label, answer: Answer) -> bool:
    return case.is_right(label, answer)


def _first(case: Case, label: Label, answer: Answer) -> bool:
    return case.is_near(label, answer.place or answer.first)


SHARES: tuple[Share, ...] = (
    ("live: carried to the right place", _is("live"), _carried),
    ("edited: written as certain", _is("edited"), _certain),
    ("edited: first candidate is the successor", _is("edited"), _first),
    ("reworded: written as certain", _is("reworded"), _certain),
    ("reworded: first candidate is the successor", _is("reworded"), _first),
    ("gone or several: written as certain", _is("gone", "several"), _certain),
    ("returned: carried to the right place", _is("returned"), _carried),
    ("copied: carried to the copy", _is("copied"), _carried),
)


def wrong(case: Case, answers: Sequence[Answer]) -> list[int]:
    """Return the numbers of the labels that are written as certain, and should not be, or at another place."""
    pairs = enumerate(zip(case.labels, answers, strict=True))
    return [
        number
        for number, (label, answer) in pairs
        if answer.place and label.state in JUDGED and not case.is_right(label, answer)
    ]


def interval(clusters: Sequence[str], of: Sequence[bool], hits: Sequence[bool], seed: int) -> str:
    """Return a share with its 95% interval from resampled files, as text."""
    names = {path: number for number, path in enumerate(dict.fromkeys(clusters))}
    where = np.array([names[path] for path in clusters])
    count, hit = (np.bincount(where, weights=np.array(each, float), minlength=len(names)) for each in (of, hits))
    if not count.sum():
        return f"{'–':>27}"
    drawn = np.random.default_rng(seed).multinomial(len(names), np.full(len(names), 1 / len(names)), size=2000)
    totals = drawn @ count
    low, high = np.percentile((drawn @ hit)[totals > 0] / totals[totals > 0], [2.5, 97.5])
    return f"{hit.sum():5.0f} {hit.sum() / count.sum():7.2%} [{low:5.1%}, {high:6.1%}]".rjust(27)


def print_figures(case: Case, answers: Mapping[str, list[Answer]], seed: int) -> None:
    """Print the shares of each way, by class."""
    say(f"{'':42} {'of':>6} " + " ".join(f"{name:>27}" for name in answers))
    files = [label.old[0] for label in case.labels]
    for name, chosen, holds in SHARES:
        of = [chosen(label) for label in case.labels]
        cells = []
        for found in answers.values():
            pairs = zip(of, case.labels, found, strict=True)
            cells.append(interval(files, of, [each and holds(case, *pair) for each, *pair in pairs], seed))
        say(f"{name:42} {sum(of):6,} " + " ".join(cells))
    cells = []
    for found in answers.values():
        certain = [
            each.place is not None and label.state in JUDGED for label, each in zip(case.labels, found, strict=True)
        ]
        bad = set(wrong(case, found))
        cells.append(interval(files, certain, [number in bad for number in range(len(found))], seed))
    say(f"{'of all that is certain: wrong':42} {'':6} " + " ".join(cells))
    for name, found in answers.items():
        counts = Counter((label.state, each.kind) for label, each in zip(case.labels, found, strict=True))
        kinds = sorted({kind for _, kind in counts})
        say(f"\n{name:12} " + " ".join(f"{kind:>10}" for kind in kinds))
        for state in CLASSES:
            say(f"  {state:10} " + " ".join(f"{counts[state, kind]:10,}" for kind in kinds))


def print_labels(case: Case, numbers: Iterable[int], answers: Sequence[Answer]) -> None:
    """Print labels for reading: the old text, the place that a way says, and git's."""
    for number in numbers:
        label, answer = case.labels[number], answers[number]
        path, start, end = label.old
        say(f"--- {number} {label.state}, {path}:{start + 1}, {label.copies} copies; {', '.join(label.events)}")
        say(case.text(case.span((path, start, end), 0), 0))
        if place := answer.place or answer.first:
            say(f"--- {answer.kind}{'' if answer.place else ', first candidate'}: {place}\n{case.text(place, 1)}")
        if truth := label.successor:
            say(f"--- git: {truth[0]}:{truth[1] + 1}\n" + "\n".join(case.new[truth[0]][slice(*truth[1:])]))
        say("")


def main(arguments: Sequence[str] | None = None) -> int:
    """Follow the labels, carry them in each way, and print how often that is right."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("repository", type=Path, help="a folder that git reads: a checkout or a bare repository")
    parser.add_argument("a", help="the older commit, among the first parents of the newer one")
    parser.add_argument("b", help="the newer commit")
    parser.add_argument("--paths", nargs="+", default=(), help="globs, as 'docs/**/*.md'; all documentation by default")
    parser.add_argument("--labels", type=int, default=3000, help="how many paragraphs are drawn; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--show", nargs=2, metavar=("CLASS", "COUNT"), help="print labels of a class, or `wrong` ones")
    parser.add_argument("--json", type=Path, help="a file for every label with its truth and all answers")
    asked = parser.parse_args(arguments)
    git = Git(asked.repository, asked.paths)
    a, b = git.commit(asked.a), git.commit(asked.b)
    begun = time.perf_counter()
    labels, old, new = followed(git, a, b)
    readable = Case((), old, new).texts[0]
    labels = [label for label in labels if label.old[0] in readable and label.old[0][0].isalnum()]
    random = np.random.default_rng(asked.seed)
    if 0 < asked.labels < len(labels):
        labels = [labels[each] for each in sorted(random.choice(len(labels), asked.labels, replace=False))]
    case = Case(labels, old, new)
    say(f"{a[:10]}..{b[:10]}: {len(old):,} → {len(new):,} files, {len(labels):,} labels")
    say(f"git: {time.perf_counter() - begun:.1f} s")
    answers = {}
    for name in asked.systems:
        begun = time.perf_counter()
        answers[name] = SYSTEMS[name](case)
        say(f"{name}: {time.perf_counter() - begun:.1f} s")
    counts = Counter(label.state for label in labels)
    say(", ".join(f"{state} {counts[state]:,} ({counts[state] / len(labels):.1%})" for state in CLASSES))
    texts = [case.text(case.span(label.old, 0), 0) for label in labels]
    exact = sum(any(text in each for each in case.texts[1].values()) for text in texts)
    unclear = sum(label.open for label in labels)
    several = sum(label.copies[1] > 1 for label in labels if label.state == "live")
    say(
        f"the same text, anywhere: {exact:,} ({exact / len(labels):.1%}); live with copies: {several:,}, undecidable from both ends: {unclear:,}\n"
    )
    print_figures(case, answers, asked.seed)
    first = next(iter(answers.values()))
    bad = wrong(case, first)
    if asked.show:
        chosen = (
            bad if asked.show[0] == "wrong" else [n for n, each in enumerate(labels) if each.state == asked.show[0]]
        )
        print_labels(case, sorted(random.permutation(chosen)[: int(asked.show[1])].tolist()), first)
    else:
        print_labels(case, bad[:20], first)
    if asked.json:
        rows = [
            {
                **{key: value for key, value in asdict(label).items()},
                "text": text,
                "successor": label.successor,
                "answers": {name: asdict(found[number]) for name, found in answers.items()},
                "right": {name: case.is_right(label, found[number]) for name, found in answers.items()},
            }
            for number, (label, text) in enumerate(zip(labels, texts, strict=True))
        ]
        asked.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False), encoding="utf-8")
    return 0


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line.rstrip().encode("utf-8", "replace").decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
