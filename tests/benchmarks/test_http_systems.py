"""benchmarks/http_systems.py at a tiny size: every query has its answer or its cause, and each way gets its figure."""

from __future__ import annotations

import re
from functools import partial

import pytest


class Service:
    """The service in this process: one of its own could not import the script."""

    def __init__(self, server) -> None:
        self._server = server.__enter__()
        self.address = self._server.address

    def stop(self) -> dict[str, int]:
        self._server.__exit__(None, None, None)
        return dict(self._server.counts)


@pytest.mark.full
def test_each_fault_is_found_and_each_way_of_asking_gets_its_figure(
    script, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = script("http_systems")
    server = partial(benchmark.SearchServer, keep_requests=False)
    monkeypatch.setattr(benchmark, "Service", lambda reply: Service(server(reply)))
    hanging = benchmark.FAULTS.pop("within 5 s")
    assert isinstance(hanging, benchmark.SearchAnswer)
    assert hanging.seconds > benchmark.TIMEOUT
    assert benchmark.main(["--queries", "60", "--concurrency", "8", "--repetitions", "1"]) == 0
    out = capsys.readouterr().out
    assert "60 have their own answer or their own cause, in order; 0 do not" in out
    counts = re.findall(r"^ +(\d+) \(expected (\d+)\)  retrieve: ", out, re.MULTILINE)
    assert len(counts) == 5
    assert all(found == wanted for found, wanted in counts)
    for way in ("plain httpx", "HttpRetriever", r"evaluate\(\)", r"evaluate\(\), a tenth"):
        assert re.search(rf"^  {way} +[\d,]+   \d+\.\d\d × plain httpx$", out, re.MULTILINE)
