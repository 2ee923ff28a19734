"""An estimate of grading or generating refuses a concurrency that the run itself would refuse."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from raglift.cli.app import app
from raglift.errors import ConfigurationError


@pytest.mark.parametrize("command", [["grade", "runs/none"], ["generate", "lighthouse"]])
def test_estimate_checks_concurrency(command: list[str]) -> None:
    result = CliRunner().invoke(app, ["labels", *command, "--estimate", "--concurrency", "0"])
    assert isinstance(result.exception, ConfigurationError)
    assert "concurrency: found 0; expected an integer from 1 to 1,000" in str(result.exception)
