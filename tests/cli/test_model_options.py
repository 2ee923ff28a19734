"""The options about a language model, as the commands share them."""

import pytest

from raglift.cli.model_options import model_and_limits, parse_price, print_estimate
from raglift.errors import ConfigurationError, MissingKey
from raglift.judging.batch import Estimate, Limits
from raglift.llm.replies import Usage


@pytest.fixture(autouse=True)
def _key(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_the_options_make_a_model_and_limits():
    model, limits = model_and_limits("openai:gpt-4.1", "0.5", 3, 1.5, "0.15, 0.60")
    assert model.identity == "langchain ChatOpenAI openai:gpt-4.1 (temperature=0.5)"
    assert limits == Limits(3, 1.5, (0.15, 0.60))


def test_the_temperature_can_be_left_to_the_provider():
    model, limits = model_and_limits("openai:gpt-4.1", "default", 1, None, None)
    assert "temperature" not in model.identity
    assert limits == Limits(1)


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "a,b", "-1,2", "1,inf", "nan,1"])
def test_a_price_that_is_none_is_refused(text):
    with pytest.raises(ConfigurationError, match=r"--price: found .*; expected US dollars .* as 0\.15,0\.60"):
        parse_price(text)


@pytest.mark.parametrize("text", ["hot", "-1", "3", "nan"])
def test_a_temperature_that_is_none_is_refused(text):
    with pytest.raises(ConfigurationError, match="--temperature: found"):
        model_and_limits("openai:gpt-4.1", text, 1, None, None)


def test_without_a_key_it_is_told_which_one(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(MissingKey):
        model_and_limits("openai:gpt-4.1", "0", 1, None, None)


def test_an_estimate_needs_no_key_and_finds_the_same_answers_in_the_cache(monkeypatch):
    with_key, _ = model_and_limits("openai:gpt-4.1", "0", 1, None, None)
    monkeypatch.delenv("OPENAI_API_KEY")
    without, _ = model_and_limits("openai:gpt-4.1", "0", 1, None, None, to_estimate=True)
    assert (without.name, without.identity) == (with_key.name, with_key.identity)


def test_an_estimate_is_one_line_on_standard_error(capsys):
    model, _ = model_and_limits("openai:gpt-4.1", "0", 1, None, None)
    print_estimate(Estimate(2, 0, Usage(1_000, 10), 0.00208), model)
    out, error = capsys.readouterr()
    assert out == ""
    assert error == "openai:gpt-4.1: 2 prompts, about 1,000 tokens to read and 10 to write, about US$ 0.0021\n"
