from __future__ import annotations

import pytest

import raglift as rl
from raglift.apps.pytest_integration.messages import without_own_frames
from raglift.errors import QueryFailed


@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_traceback_begins_in_the_system_that_failed(concurrency: int) -> None:
    def broken(query: str) -> list[str]:
        raise LookupError("no shard")

    data = rl.load_dataset("lighthouse").sample(2)
    with pytest.raises(QueryFailed) as failed:
        rl.evaluate(broken, data, on_error="raise", concurrency=concurrency, retries=0, progress=False)
    cause = without_own_frames(failed.value).__cause__
    while cause is not None and not isinstance(cause, LookupError):
        cause = cause.__cause__
    assert cause is not None
    assert cause.__traceback__ is not None
    assert cause.__traceback__.tb_frame.f_code.co_name == "broken"
