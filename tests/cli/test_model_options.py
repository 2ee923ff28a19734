"""The options about a language model, as the commands share them."""

import pytest

from raglift.cli.exits import INTERRUPTED, Stopped
from raglift.cli.model_options import model_of, stoppable
from raglift.errors import ConfigurationError, MissingKey

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _key(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_the_temperature_can_be_left_to_the_provider():
    assert "temperature" not in model_of("openai:gpt-4.1", "default").identity


@pytest.mark.parametrize("text", ["hot", "-1", "3", "nan"])
def test_a_temperature_that_is_none_is_refused(text):
    with pytest.raises(ConfigurationError, match="--temperature: found"):
        model_of("openai:gpt-4.1", text)


def test_an_estimate_needs_no_key_and_finds_the_same_answers_in_the_cache(monkeypatch):
    with_key = model_of("openai:gpt-4.1", "0")
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(MissingKey):
        model_of("openai:gpt-4.1", "0")
    without = model_of("openai:gpt-4.1", "0", to_estimate=True)
    assert (without.name, without.identity) == (with_key.name, with_key.identity)


def test_ctrl_c_says_how_to_continue():
    with pytest.raises(Stopped) as stopped, stoppable():
        raise KeyboardInterrupt
    assert stopped.value.code == INTERRUPTED
    assert "what was answered is kept, and no file was written" in stopped.value.how_to_continue
