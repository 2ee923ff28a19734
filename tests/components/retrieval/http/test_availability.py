"""Whether anybody is there is found out once, and not by each query anew."""

from __future__ import annotations

import asyncio

import pytest

from raglift.components.http import availability
from raglift.components.http.availability import Availability, NoConnection
from raglift.errors import ServiceFailed, ServiceUnusable


class Host:
    """Takes a moment to say that nobody is there, as a host that drops what is sent to it."""

    def __init__(self, seconds: float) -> None:
        self.tries = 0
        self.seconds = seconds
        self.there = False

    async def __call__(self) -> str:
        self.tries += 1
        await asyncio.sleep(self.seconds)
        if self.there:
            return "here"
        raise NoConnection("no answer to connecting")


def test_connecting_that_takes_long_is_not_waited_for_by_every_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "_WAITED_FOR_AT_FIRST", 0.05)
    host, known = Host(0.1), Availability("http://host")

    async def ask_often() -> list[object]:
        places = asyncio.Semaphore(4)

        async def one() -> object:
            async with places:
                return await known.call(host)

        return await asyncio.gather(*(one() for _ in range(200)), return_exceptions=True)

    found = asyncio.run(ask_often())
    assert {type(each) for each in found} == {ServiceUnusable}
    assert host.tries <= 8


def test_a_service_that_comes_up_a_little_later_is_waited_for() -> None:
    host, known = Host(0.0), Availability("http://host")

    async def ask() -> object:
        asyncio.get_running_loop().call_later(0.1, setattr, host, "there", True)
        return await known.call(host)

    assert asyncio.run(ask()) == "here"


def test_a_service_that_was_there_is_tried_again_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    host, known = Host(0.0), Availability("http://host")
    host.there = True
    assert asyncio.run(known.call(host)) == "here"
    host.there = False
    for tries in (2, 3):
        with pytest.raises(ServiceFailed, match="any more — no answer to connecting"):
            asyncio.run(known.call(host))
        assert host.tries == tries
    monkeypatch.setattr(availability, "_RETRIED_LATER_FOR", 0.0)
    with pytest.raises(ServiceFailed):
        asyncio.run(known.call(host))
    assert host.tries == 3  # gone for good: asked again after a second
