"""What became of every paragraph of a repository's documentation between two commits: the truth of `label_updates.py`.

A paragraph is followed line by line through the first parents, since one diff of both ends takes a rewrapped paragraph
for a new one, and a moved one for a deleted one. At the end it is

- live: at one place, the same but for white space, wrapping, quotation marks, the numbers of headings and lists, and
  the languages of code fences. There may be copies if git says which place is its own: by the lines that were not
  touched, or by the lines around it if one commit added several.
- edited: some of its lines are left. Its successor is where they are.
- reworded: no line is left, but similar ones replaced its lines. They are its successor.
- gone: nothing is left.
- several: one commit removed it and added it at several places, and the lines around them do not say which.

Two more classes cannot be seen from both ends:

- returned: removed, and put back word for word by a later commit.
- copied: at one place at each end, but copied there before a later commit removed or edited it.
"""

from __future__ import annotations

import re
import subprocess
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from rapidfuzz import fuzz

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

ENDINGS = ("md", "mdx", "qmd", "rst", "txt", "adoc")
NOT_DOCUMENTATION = ("**/.*/**", ".*/**", "**/*lock*", "**/licen[cs]e*", "**/requirements*.txt", "**/constraints*.txt")
CLASSES = ("live", "edited", "reworded", "gone", "several", "returned", "copied")
JUDGED = CLASSES[:5]
LEAST_LETTERS = 20
"""How many letters a paragraph has at least, and a line that is recognized at another place."""
LEFT_LETTERS = 10
"""How many letters the remaining lines of an edited paragraph have at least."""
SIMILAR = 70.0
"""The least rapidfuzz ratio of a line to the one that replaced it."""
AROUND = 200
"""How many lines before a change a paragraph may begin that the change makes complete."""
CONTEXT = 5
"""How many lines before and after a paragraph are compared to tell copies apart."""
IN_PLACE = 3
"""How many equal lines around a copy weigh as much as its being at the paragraph's old place."""


# The same text: the foldings.

_QUOTES = str.maketrans(dict.fromkeys("'´‘’‚‛“”„‟‹›«»", '"') | {"\u200b": "", "\ufeff": ""})


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

    def output(self, *arguments: str, given: str = "") -> bytes:
        """Return what git prints."""
        command = ["git", "-C", str(self.folder), "-c", "core.quotePath=false", *arguments]
        done = subprocess.run(command, input=given.encode(), stdout=subprocess.PIPE, check=False)  # noqa: S603
        if done.returncode:
            raise SystemExit(f"git {arguments[0]} failed in {self.folder}")
        return done.stdout

    def commit(self, name: str) -> str:
        """Return the id of a commit."""
        return self.output("rev-parse", "--verify", f"{name}^{{commit}}").decode().strip()

    def files(self, commit: str) -> dict[str, list[str]]:
        """Return the lines of the documentation at a commit, by path."""
        empty = self.output("hash-object", "-t", "tree", "--stdin").decode().strip()
        raw = self.output("diff", "--raw", "-z", "--no-renames", "--abbrev=64", empty, commit, "--", *self.paths)
        fields = raw.decode("utf-8", "replace").split("\0")
        blobs = {
            path: about.split()[3]
            for about, path in zip(fields[:-1:2], fields[1::2], strict=True)
            if about[8:11] == "100"
        }
        found = self.output("cat-file", "--batch", given="".join(f"{each}\n" for each in blobs.values()))
        files, at = {}, 0
        for path in blobs:
            start = found.index(b"\n", at) + 1
            if found[at:start].endswith(b" missing\n"):  # a partial clone
                at = start
                continue
            at = start + int(found[at:start].split()[2]) + 1
            text = found[start : at - 1]
            files[path] = list(map(line_of, text.removesuffix(b"\n").split(b"\n"))) if text else []
        return files

    def history(self, a: str, b: str) -> Iterator[tuple[str, list[Change]]]:
        """Yield the id of each commit after A up to B, of first parents, and what it changes."""
        if a not in self.output("rev-list", "--first-parent", b).decode().split():
            raise SystemExit(f"{a} is not among the first parents of {b}; take one of git log --first-parent {b}")
        how = ["--first-parent", "--diff-merges=first-parent", "--reverse", "--format=%x00%H", "-p", "-U0", "-M", "-l0"]
        how += ["--histogram", "--text", "--no-color", "--no-ext-diff", "--no-textconv", "--no-prefix"]
        raw = self.output("log", *how, "--inter-hunk-context=0", f"{a}..{b}", "--", *self.paths)
        lines = iter(raw.split(b"\n"))
        commit, changes = "", [Change()]
        for line in lines:
            if line.startswith(b"\0"):
                if commit:
                    yield commit, changes
                commit, changes = line[1:].decode(), []
            elif line.startswith(b"diff --git "):
                changes.append(Change())
            elif line.startswith(b"@@ "):
                changes[-1].hunks.append(hunk_of(line, lines))
            elif named := re.match(rb"(--- |\+\+\+ |rename from |rename to )(.*)", line):
                setattr(changes[-1], "old" if named[1] in (b"--- ", b"rename from ") else "new", path_of(named[2]))
        if commit:
            yield commit, changes


def hunk_of(head: bytes, lines: Iterator[bytes]) -> Hunk:
    """Return a hunk of `git log -p -U0`, whose lines are taken from the output."""
    (old, lost), (new, more) = re.findall(rb"[-+](\d+)(?:,(\d+))?", head)[:2]
    removed, added = int(lost or 1), int(more or 1)
    start, at = int(old) - (removed > 0), int(new) - (added > 0)
    taken: list[bytes] = []
    while len(taken) < removed + added:
        if not (line := next(lines)).startswith(b"\\"):  # else it says that the file has no newline at its end
            taken.append(line)
    return Hunk((start, start + removed), (at, at + added), [line_of(each[1:]) for each in taken[removed:]])


def line_of(raw: bytes) -> str:
    """Return a line without a carriage return at its end and a byte-order mark."""
    return raw.removesuffix(b"\r").decode("utf-8", "replace").removeprefix("\ufeff")


def path_of(raw: bytes) -> str | None:
    """Return a path that `git log` may have put in quotation marks; None for /dev/null."""
    raw = raw.removesuffix(b"\t")
    if raw.startswith(b'"'):
        raw = raw[1:-1].decode("unicode_escape").encode("latin-1")
    return raw.decode("utf-8", "replace") if raw != b"/dev/null" else None


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
    """Whether its copies cannot be told apart by the two ends alone."""

    @property
    def paths(self) -> set[str]:
        """The files where it is, or what is left of it."""
        return {self.place[0]} if self.place else {path for path, _ in self.left}

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
    """A file's folded text, which is searched for paragraphs that are whole lines of it."""

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
        """Yield the keys that occur in the text, and where.

        Args:
            keys: the keys by their first characters.
            hunks: if given, only occurrences that these changed.
        """
        starts: Iterable[tuple[int, int]] = self.starts
        if hunks is not None:
            bounds = [(each.new[0] - AROUND, max(each.new[1], each.new[0] + 1)) for each in hunks]
            ranges = [range(bisect_left(self.starts, (a, 0)), bisect_left(self.starts, (b, 0))) for a, b in bounds]
            starts = [self.starts[each] for each in sorted(set().union(*ranges))]
        for number, at in starts:
            for key in keys.get(self.text[at : at + LEAST_LETTERS], ()):
                end = self.ends.get(at + len(key)) if self.text.startswith(key, at) else None
                if end and (hunks is None or any(_changes(each, number, end) for each in hunks)):
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
    return sum(
        len(list(takewhile(lambda pair: pair[0] == pair[1], zip(*each, strict=False))))
        for each in zip(one, other, strict=True)
    )


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

    def put(self, place: Range | None, commit: str) -> None:
        """Give the label its new place; None if it is one of several and nothing says which."""
        how = "several places" if not place else "reflowed" if self.is_near(place) else "moved"
        self.label.events.append(f"{commit[:10]} {how}")
        self.label.place, self.label.left = place, []
        self.label.state = "several" if not place else "live" if self.label.state != "returned" else "returned"

    def score(self, place: Range, around: Context) -> int:
        """Return how well a place matches: whether the label was there, and the equal lines around it."""
        return IN_PLACE * self.is_near(place) + alike(self.around or ([], []), around)


def paired(
    labels: Sequence[Touched], places: Mapping[Range, Context], *, in_order: bool
) -> Iterator[tuple[Touched, Range]]:
    """Yield labels with their places: each has no better match than the other.

    Args:
        labels: labels of the same text, in the order of the old file.
        places: where the text is now, with the lines around it.
        in_order: whether the others are paired in order if there are as many labels as places.
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
        labelled, taken = {each for each, _ in best}, {place for _, place in best}
        rest = [each for each in rest if each not in labelled]
        free = [place for place in free if place not in taken]
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
        indexed = set().union(*(self.by_path.pop(path, set()) for path in by_old))
        affected = {label for label in indexed if label.paths & by_old.keys()}
        touched: dict[str, list[Touched]] = defaultdict(list)
        for label in affected:
            if each := self._followed(label, by_old, before, found.get(label.key, set())):
                touched[label.key].append(each)
        for key, places in found.items():
            touched[key] = self._placed(key, touched[key], places, commit)
        self._edited([each for several in touched.values() for each in several], changes, before, commit)
        for label in {*affected, *(label for key in found for label in self.by_key[key])}:
            for path in label.paths:
                self.by_path[path].add(label)

    def _followed(
        self, label: Label, by_old: Mapping[str, Change], before: Mapping[str, list[str]], places: set[Range]
    ) -> Touched | None:
        """Shift a label whose lines the commit left alone, and return what is left of another.

        Which of several copies a diff takes for the old one is arbitrary, so a label counts as touched if the commit
        added a copy to its file.
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
        rest = sorted(touched, key=lambda each: each.label.place or (*each.label.left[0], 0))
        free = {place: context(self.tree[place[0]], *place[1:]) for place in places}

        def put(some: Sequence[Touched], options: Mapping[Range, Context], *, in_order: bool) -> None:
            for each, place in list(paired(some, options, in_order=in_order)):
                each.put(place, commit)
                rest.remove(each)
                del free[place]

        for path in sorted({each.path for each in rest if each.path}):
            here = {place: around for place, around in free.items() if place[0] == path}
            put([each for each in rest if each.path == path], here, in_order=True)
        for each in [each for each in rest if not each.around]:
            put([each], {place: around for place, around in free.items() if each.is_near(place)}, in_order=False)
        lost = [each for each in rest if each.around and each.lost]
        one_file = len({each.lost[0][0] for each in lost}) == 1 == len({path for path, *_ in free})
        put(lost, free, in_order=one_file)
        for each in [each for each in rest if each.around]:
            still = each.kept and fold(self.tree[each.path or ""][each.kept[0][1] : each.kept[-1][1] + 1]) == key
            if still or (each.lost and free):
                each.put(next(iter(free)) if len(free) == 1 else None, commit)
                rest.remove(each)
        if len(free) == 1 and not lost:
            back = next(iter(free))
            for label in self.by_key[key]:
                if label.state in ("gone", "reworded") or (label.state == "edited" and label.old[0] == back[0]):
                    label.place, label.left, label.state = back, [], "returned"
                    label.events.append(f"{commit[:10]} returned")
        return rest

    def _edited(
        self, touched: list[Touched], changes: Sequence[Change], before: Mapping[str, list[str]], commit: str
    ) -> None:
        """Find what is left of labels whose whole text is nowhere."""
        added: dict[str, list[Line]] = defaultdict(list)
        removed: Counter[str] = Counter()
        for change in changes:
            for hunk in change.hunks:
                removed.update(map(fold_line, before[change.old][slice(*hunk.old)] if change.old else ()))
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
    """Return whether its order in its file, or the lines around it, say at both ends which of its copies it is."""
    place = label.place or label.old
    at_a, at_b = (sorted(each for each in ends if each[0] == label.old[0]) for ends in (before, after))
    if place in at_b and len(at_a) == len(at_b) and at_a.index(label.old) == at_b.index(place):
        return True
    others = [alike(before[label.old], around) for each, around in after.items() if each != place]
    others += [alike(around, after[place]) for each, around in before.items() if each != label.old]
    return alike(before[label.old], after[place]) > max(others, default=-1)
