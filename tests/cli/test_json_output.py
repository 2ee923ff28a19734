"""What `--json` prints: plain JSON, whatever the figures are."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from raglift.cli.json_output import print_json, records


@dataclass(frozen=True)
class Figure:
    """Of a kind that results hold."""

    value: float
    names: tuple[str, ...]


def test_what_is_no_finite_number_is_null(capsys):
    given = {
        "none": [np.nan, float("inf"), None],
        "number": np.float32(0.5),
        "count": np.int64(3),
        "fig": Figure(np.nan, ("é",)),
    }
    print_json(given)
    out = capsys.readouterr().out
    assert json.loads(out, parse_constant=lambda name: 1 / 0) == {
        "none": [None, None, None],
        "number": 0.5,
        "count": 3,
        "fig": {"value": None, "names": ["é"]},
    }
    assert "é" in out


def test_what_a_terminal_would_act_on_is_written_as_its_number(capsys):
    text = "\x1b[31m \x9b2J \u202e \x00 \ud800 \U0001f600 \n"
    print_json({text: text})
    out = capsys.readouterr().out
    out.encode("utf-8")
    assert not {"\x1b", "\x9b", "\u202e", "\x00", "\ud800"} & set(out)
    assert "\U0001f600" in out
    assert json.loads(out) == {text: text}


def test_rows_of_a_frame_have_none_where_a_cell_is_missing():
    frame = pd.DataFrame({"k": pd.array([1, None], dtype="Int64"), "mean": [0.25, np.nan], "stage": ["a", None]})
    assert records(frame) == [{"k": 1, "mean": 0.25, "stage": "a"}, {"k": None, "mean": None, "stage": None}]
