"""Kills before each single operation on files: what random moments seldom hit.

The process counts its operations that change a file or a folder (as Python's audit events tell them) and kills itself
before the one that it was told: the first, the second … until it ends without having come so far.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from killing.job import LONGEST_CHAIN, Fault
from killing.process import prepare, start

if TYPE_CHECKING:
    from pathlib import Path

    from killing.job import Job

__all__ = ["Stops", "stop_everywhere"]


@dataclass(frozen=True)
class Stops:
    """What came of it."""

    name: str
    operations: int
    """How many operations on files the work has."""
    kills: int
    """Before how many of them it was killed, gone on with and compared."""


def stop_everywhere(job: Job, place: Path, *, over: bool, step: int = 1) -> Stops:
    """Kill a job before each of its operations on files, each time from the same beginning, and finish and compare.

    Models and prompts are in the cache, so that what is killed is the writing.

    Args:
        job: the work.
        place: a new folder.
        over: begin with work that is finished, so that something is replaced; else with nothing but the cache.
        step: kill before each first of so many operations.

    Raises:
        Fault: something was lost or damaged; the message names the operation.
    """
    prepare()
    whole = place / "whole"
    whole.mkdir(parents=True)
    job.begin(whole)
    for number in (1, LONGEST_CHAIN):  # where starts alternate, both kinds
        start(job.command(whole, number)).finish()
    for kills in count():
        operation = kills * step
        folder = place / f"operation-{operation}"
        _begin(job, folder, whole, over=over)
        started = start(replace(job.command(folder, 1), stop_before=operation, beside=()))
        started.process.join()
        was_killed = started.was_killed
        try:
            if not was_killed:
                started.finish()
            job.look(folder, whole)
            start(job.command(folder, LONGEST_CHAIN)).finish()
            job.compare(folder, whole)
        except AssertionError as error:
            raise Fault(f"{job.name}, killed before operation {operation} on files, {folder}: {error}") from error
        shutil.rmtree(folder)
        if not was_killed:
            return Stops(job.name, operation, kills)
    raise AssertionError  # never: an end is reached above


def _begin(job: Job, folder: Path, whole: Path, *, over: bool) -> None:
    """Make a folder with the cache of the whole work, and with its results where these are to be replaced."""
    if over:
        shutil.copytree(whole, folder)
        (folder / "events.log").unlink()
        job.begin(folder)
        job.look(folder, whole)
        return
    folder.mkdir()
    shutil.copytree(whole / "cache", folder / "cache")
    job.begin(folder)
