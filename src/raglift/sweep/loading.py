"""Loading a sweep from a YAML file: read strictly, with every fault listed with its line."""

from __future__ import annotations

import os

from raglift.errors import ConfigurationError, SweepError
from raglift.sweep.specification.record import DEFAULTS, Sweep
from raglift.sweep.specification.validation import checked
from raglift.utilities.limits import resolved, user_path
from raglift.utilities.strict_files import InvalidYaml, YamlFields


def load_sweep(path: str | os.PathLike[str], *, budget: int | None = None) -> Sweep:
    """Read a sweep from a YAML file; docs/how-to/sweeps.md describes it.

    The fields are those of `Sweep`, each value in its text form. Relative paths are relative to the folder of the file.
    Nothing is run or imported, and no model is loaded.

    Args:
        path: the file.
        budget: how many tokens a prompt has where the file does not say; None for the default of `Sweep`.

    Raises:
        SweepError: the file is not there, is not YAML, or does not describe a sweep; every fault is listed.
        ConfigurationError: `path` is not a path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ConfigurationError(f"load_sweep: found a {type(path).__name__}; expected the path of a YAML file")
    file = user_path(path)
    reading = YamlFields(file.name, "the fields of a sweep, as dataset: lighthouse")
    try:
        given = reading.read(file)
    except InvalidYaml as error:
        raise SweepError(file.name, [error.fault]) from None
    defaults = DEFAULTS if budget is None else {**DEFAULTS, "budget": budget}
    try:
        values = checked(Sweep, given, defaults, reading.locate, folder=resolved(file).parent)
    except SweepError as error:
        raise SweepError(str(path), reading.with_faults(error.faults)) from None
    if reading.faults:
        raise SweepError(str(path), reading.with_faults(()))
    named = given.get("primary") is not None
    return Sweep(**values if named else {**values, "primary": None})
