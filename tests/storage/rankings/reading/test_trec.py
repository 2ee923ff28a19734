"""TREC runs and qrels: what trec_eval reads, in its order; everything else is a fault with its line."""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import DatasetError
from raglift.storage.rankings import read_trec
from raglift.storage.rankings.columns import hits_of_rows, hits_of_table
from raglift.storage.rankings.files import blocks_of
from raglift.storage.rankings.read import read_qrels, read_run
from raglift.utilities.validation import Location


@pytest.fixture
def file(tmp_path: Path):
    def write(text: str | bytes, name: str = "run.trec") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def faults_of(error: pytest.ExceptionInfo[DatasetError]) -> list[str]:
    return [str(fault) for fault in error.value.faults]


def test_scores_decide_and_not_ranks_nor_the_order_of_lines(file) -> None:
    run = read_run(file("q1 Q0 a 1 0.5 t\nq2 Q0 z 1 9 t\nq1 Q0 b 2 2.5 t\nq1 Q0 c 3 1e1 my-tag\n"))
    assert dict(run) == {"q1": ["c", "b", "a"], "q2": ["z"]}
    assert (len(run), run.hits) == (2, 4)
    assert repr(run) == "FileRankings('run.trec': 2 queries, 4 hits)"
    with pytest.raises(KeyError):
        run["q3"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1.0, 1.0),
        (1.0 + 2**-24, 1.0),  # differs in 64 bits only
        (1.0 + 2**-23, 1.0),
        (1e39, 2e39),  # both infinite in 32 bits
        (1e39, 1e38),
        (16777217.0, 16777216.0),
        (0.0, -0.0),
        (1e-46, 0.0),
    ],
)
@pytest.mark.parametrize("names", [("a", "b"), ("é", "z"), ("\U0001f600", "\uffff"), ("10", "9"), ("A", "a")])
def test_the_order_is_that_of_trec_eval(file, first: float, second: float, names: tuple[str, str]) -> None:
    run = read_run(file(f"q Q0 {names[0]} 1 {first!r} t\nq Q0 {names[1]} 2 {second!r} t\n"))
    scores = {"q": dict(zip(names, (first, second), strict=True))}
    theirs = pytrec_eval.RelevanceEvaluator({"q": {names[0]: 1, names[1]: 0}}, {"recip_rank"}).evaluate(scores)
    assert 1 / (run["q"].index(names[0]) + 1) == theirs["q"]["recip_rank"]


@pytest.mark.parametrize(
    "text",
    [
        "q1 Q0 a 1 2 t\r\nq1 Q0 b 2 1 t\r\n",
        "\ufeffq1 Q0 a 1 2 t\nq1 Q0 b 2 1 t",
        "q1\tQ0\ta\t1\t2\tt\nq1\tQ0\tb\t2\t1\tt\n",
        "\n  q1   Q0 a  1 2\t t  \n\n \t \nq1 Q0 b 2 1 t\n\n",
        "q1 Q0 a 1 +2.0 t\nq1 Q0 b 2 .1e1 t\n",
        "q1 Q0 a x inf t\nq1 Q0 b y -INF t\n",
        gzip.compress(b"q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\n", mtime=0),
    ],
)
def test_white_space_line_ends_and_compression_do_not_matter(file, text: str | bytes) -> None:
    assert dict(read_run(file(text))) == {"q1": ["a", "b"]}


def test_ids_stay_as_they_are(file) -> None:
    ids = ["007", "NA", "nan", "null", '"quoted"', "'", "a,b", "1e3", "#x", "\\n", "naïve", "a\u00a0b", "\u2028"]
    lines = "".join(f"{id_} Q0 {id_} 1 {location} NA\n" for location, id_ in enumerate(ids))
    run = read_run(file(lines))
    assert dict(run) == {id_: [id_] for id_ in ids}


def test_every_fault_is_named_with_its_line(file) -> None:
    lines = ["q1 Q0 a 1 2.5 t", "q1 Q0 b 2 1.5", "", "q1 Q0 c 3 high t", "q1 Q0 a 4 0.5 t", "q1 Q0 d e 5 0.4 t"]
    lines += ["q1 Q0 f 6 nan t", "q1 Q0 g 7 1_0 t"]
    with pytest.raises(DatasetError) as error:
        read_run(file("\n".join(lines)))
    columns = "6 columns: query Q0 id rank score tag"
    assert faults_of(error) == [
        f"run.trec:2: found 5 columns; expected {columns}",
        'run.trec:4: score: found "high"; expected a number, as 12.34',
        (
            'run.trec:5: found the id "a" a second time for the query "q1", first on line 1; '
            "expected each id once in a ranking"
        ),
        f"run.trec:6: found 7 columns; expected {columns}",
        'run.trec:7: score: found "nan"; expected a number, as 12.34',
        'run.trec:8: score: found "1_0"; expected a number, as 12.34',
    ]


def test_the_list_of_faults_has_an_end(file) -> None:
    with pytest.raises(DatasetError) as error:
        read_run(file("one two\n" * 5000))
    assert len(error.value.faults) == 1001
    assert "the rest was not looked at" in str(error.value.faults[-1])


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "found no lines"),
        (b"q1 Q0 a 1 2 t\nq1 Q0 b\x00 2 1 t\n", "NUL byte"),
        (b"\xff\xfeq\x001\x00", "UTF-16"),
        (b"q1 Q0 \xff 1 2 t\n", "0xff at byte 6"),
        (gzip.compress(b"q1 Q0 a 1 2 t\n" * 1000, mtime=0)[:-20], "damaged"),
    ],
)
def test_what_is_no_text_is_said(file, content: bytes, found: str) -> None:
    with pytest.raises(DatasetError, match=found):
        read_run(file(content))


def test_a_folder_and_a_missing_file_are_said(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="Is a directory"):
        read_run(tmp_path)
    with pytest.raises(DatasetError, match=r"^\.: 1 fault.*\n  \.: found no readable file \(Is a directory\)"):
        read_run(".")
    with pytest.raises(DatasetError, match="No such file"):
        read_run(tmp_path / "nothing.trec")
    with pytest.raises(DatasetError, match="No such file"):
        read_qrels(tmp_path / "nothing.txt")


WORDS = st.text(st.sampled_from("ab1.é\u00a0\"',#-"), min_size=1, max_size=4)
NUMBERS = st.one_of(
    st.floats().map(repr),
    st.integers(-9, 9).map(str),
    st.text(st.sampled_from("0123456789.eE+-_infNaxd"), min_size=1, max_size=6),
    st.sampled_from([".5", "5.", "+1", "1e400", "-inf", "nan", "0x1p3", "1d", "١"]),
)
BLANKS = st.sampled_from([" ", " ", " ", "\t", "  ", "\v", "\f", " \r"])
LINES = st.one_of(
    st.tuples(WORDS, WORDS, WORDS, WORDS, NUMBERS, WORDS),
    st.tuples(WORDS, WORDS, WORDS, WORDS, st.integers(-3, 3).map(str), WORDS),
    st.lists(WORDS, max_size=7).map(tuple),
)


@pytest.mark.slow
@given(st.lists(st.tuples(LINES, BLANKS, st.sampled_from(["\n", "\r\n", "\n\n", " \n"])), max_size=8))
def test_in_bulk_is_line_by_line(tmp_path_factory, lines: list[tuple[tuple[str, ...], str, str]]) -> None:
    path = tmp_path_factory.getbasetemp() / "run.trec"
    path.write_bytes("".join(blank.join(words) + end for words, blank, end in lines).encode())
    location = Location("run", [])
    slow = hits_of_rows(read_trec.RUN.rows(path, location))
    table = read_trec.RUN.table(path)
    fast = None if table is None else hits_of_table(table)
    if fast is not None:
        assert not location.faults
        assert fast.queries == slow.queries
        for name in ("names", "query", "id", "score", "rank"):
            assert getattr(fast, name).tolist() == getattr(slow, name).tolist()


def test_what_is_regular_is_read_in_bulk(file) -> None:
    assert read_trec.RUN.table(file("q1\tQ0  NA 1 -2.5e-3 t\r\n\nq2 Q0 b 1 1 t")).num_rows == 2
    assert read_trec.QRELS.table(file("q1 0 a 1\nq1\t0\tb\t-1\n")).num_rows == 2
    assert read_qrels(file("q1 0 a 1\nq1\t0\tb\t-1\n")) == {"q1": {"a": 1, "b": -1}}


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 5))
def test_rankings_are_those_of_a_plain_sort(tmp_path_factory, seed: int, levels: int) -> None:
    random_ = random.Random(seed)  # noqa: S311
    rows = [
        (query, id_, random_.randint(1, levels) / 4)
        for query in "pqr"
        for id_ in random_.sample(["a", "é", "z", "\uffff", "\U0001f600", "10", "9"], random_.randint(0, 7))
    ]
    random_.shuffle(rows)
    if not rows:
        return
    path = tmp_path_factory.getbasetemp() / "plain.trec"
    path.write_text("".join(f"{query} Q0 {id_} 0 {score} t\n" for query, id_, score in rows), "utf-8")
    rankings = read_run(path)
    for query in {query for query, _, _ in rows}:
        own = sorted(((score, id_.encode()) for name, id_, score in rows if name == query), reverse=True)
        assert rankings[query] == [id_.decode() for _, id_ in own]


@given(st.lists(st.binary(max_size=6).map(lambda line: line.replace(b"\n", b"") + b"\n")), st.integers(1, 9))
def test_blocks_are_whole_lines(lines: list[bytes], size: int) -> None:
    data = b"".join(lines)
    blocks = list(blocks_of(io.BytesIO(b"x" + data), 9, size))
    assert b"".join(filter(None, blocks)) == b"x" + data
    assert all(block is not None and block.endswith(b"\n") for block in blocks[:-1])


def test_qrels_are_grades(file) -> None:
    labels = read_qrels(file("q1 0 a 2\nq2 x b 0\nq1 0 c -1\nq1 0 a 2\n", "qrels.txt"))
    assert labels == {"q1": {"a": 2, "c": -1}, "q2": {"b": 0}}


def test_every_fault_of_qrels_is_named(file) -> None:
    with pytest.raises(DatasetError) as error:
        read_qrels(file("q1 0 a 2\nq1 0 a 1\nq1 a 1\nq1 0 b 1.5\nq1 0 c 1001\n", "qrels.txt"))
    assert [fault.partition(";")[0] for fault in faults_of(error)] == [
        'qrels.txt:2: found the grade 1 for "a", which has 2 on line 1',
        "qrels.txt:3: found 3 columns",
        'qrels.txt:4: relevance: found "1.5"',
        "qrels.txt:5: relevance: found 1001",
    ]


def test_a_grade_is_no_hexadecimal_number(file) -> None:
    with pytest.raises(DatasetError, match=r'qrels\.txt:2: relevance: found "0x1"'):
        read_qrels(file("q1 0 a 2\nq1 0 b 0x1\n", "qrels.txt"))
