"""The public loopback server, asked by plain HTTP."""

import base64

import httpx
import numpy as np
import pytest

from raglift.testing.openai_server import Answer, OpenAIServer

pytestmark = pytest.mark.slow


@pytest.fixture
def server():
    with OpenAIServer(dimensions=16) as server:
        yield server


def ask(server, given, *, key="sk-any", **settings):
    headers = {"Authorization": f"Bearer {key}"}
    body = {"model": "m", "input": given, **settings}
    return httpx.post(f"{server.base_url}/embeddings", json=body, headers=headers, timeout=5, trust_env=False)


def vectors(reply):
    return np.array([row["embedding"] for row in reply.json()["data"]])


def test_a_text_has_one_vector_and_texts_that_share_words_are_near(server):
    lamp, again, keeper, boat = vectors(ask(server, ["the lamp", "the lamp", "the lamp keeper", "boat"]))
    assert np.array_equal(lamp, again)
    assert lamp @ keeper > lamp @ boat
    assert np.linalg.norm(lamp) == pytest.approx(1, abs=1e-6)


def test_vectors_come_as_base64_and_shorter_when_asked(server):
    (row,) = ask(server, ["lamp"], encoding_format="base64", dimensions=4).json()["data"]
    assert np.frombuffer(base64.b64decode(row["embedding"]), dtype="<f4").shape == (4,)


def test_answers_are_given_in_their_order_and_then_as_they_should_be(server):
    server.answer_next(Answer(status=429, headers={"Retry-After": "7"}), Answer(status=500))
    replies = [ask(server, ["lamp"]) for _ in range(3)]
    assert [reply.status_code for reply in replies] == [429, 500, 200]
    assert replies[0].headers["retry-after"] == "7"
    assert replies[0].json()["error"]["code"] == "rate_limit_exceeded"


def test_a_reply_is_cut_off_in_the_middle(server):
    server.answer_next(Answer(cut_off=True))
    with pytest.raises(httpx.RemoteProtocolError):
        ask(server, ["lamp"])


def test_a_slow_answer_does_not_hold_up_the_end():
    with OpenAIServer() as server:
        server.answer_next(Answer(seconds=30))
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.base_url}/embeddings", json={}, timeout=0.05, trust_env=False)


def test_other_bodies_and_other_vectors(server):
    server.answer_next(Answer(body=b"<html>"), Answer(body={"a": 1}, status=400))
    assert ask(server, ["lamp"]).text == "<html>"
    reply = ask(server, ["lamp"])
    assert (reply.status_code, reply.json()) == (400, {"a": 1})
    server.answer_next(Answer(vectors="fewer"), Answer(vectors="none"), Answer(vectors="nan"))
    assert len(vectors(ask(server, ["lamp", "boat"]))) == 1
    assert len(vectors(ask(server, ["lamp", "boat"]))) == 0
    assert np.isnan(vectors(ask(server, ["lamp", "boat"]))).sum() == 1


def test_requests_are_kept_without_the_key():
    with OpenAIServer(key="sk-right") as server:
        assert ask(server, ["lamp"], key="sk-wrong").status_code == 401
        assert ask(server, ["lamp"], key="sk-right").status_code == 200
    assert [request.path for request in server.requests] == ["/v1/embeddings"] * 2
    assert "sk-" not in repr(server.requests)


def test_a_path_that_it_does_not_speak_is_not_found_until_it_is_added(server):
    def moderation():
        return httpx.post(f"{server.base_url}/moderations", json={"input": []}, timeout=5, trust_env=False)

    assert moderation().status_code == 404
    server.paths["/v1/moderations"] = lambda body, answer: {"count": len(body["input"])}
    assert moderation().json() == {"count": 0}
