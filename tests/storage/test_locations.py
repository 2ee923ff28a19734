"""Folders that an evaluation cannot be put into the location of, and links."""

from __future__ import annotations

from pathlib import Path

import pytest

import raglift as rl
from raglift.errors import RunError
from raglift.storage.saving import check_free


def test_the_folder_that_it_runs_in_is_refused_before_anything_is_measured(
    ranked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (Path(), tmp_path, tmp_path / "x" / ".."):
        with pytest.raises(RunError, match="the folder that this runs in"):
            check_free(folder, overwrite=True)
    with pytest.raises(RunError, match="the folder that this runs in"):
        ranked([1]).save(Path())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("made", [True, False])
def test_what_is_saved_to_a_link_is_where_it_leads(ranked, tmp_path: Path, made: bool) -> None:
    real, link = tmp_path / "disk" / "real", tmp_path / "latest"
    real.parent.mkdir()
    if made:
        real.mkdir()
    link.symlink_to(real)
    assert ranked([1]).save(link) == link
    ranked([2]).save(link, overwrite=True)
    assert link.is_symlink()
    assert rl.load_evaluation(real).scores.mean("retrieve", "recall@1") == 0.0
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_dir()) == ["disk", "latest", "real"]


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_a_name_that_no_folder_can_have_is_refused(ranked, tmp_path: Path, name: str) -> None:
    with pytest.raises(RunError, match="no folder can have"):
        check_free(tmp_path / name, overwrite=False)
    with pytest.raises(RunError, match="no folder can have"):
        ranked([1]).save(tmp_path / name)


def test_a_link_in_a_circle_is_an_error(ranked, tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "one")
    with pytest.raises(RunError, match="cannot be written"):
        ranked([1]).save(tmp_path / "one")
