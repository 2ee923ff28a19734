"""rescore(): what evaluate() gives with the same settings, without asking the system again."""

import numpy as np
import pytest

from raglift.errors import ConfigurationError
from raglift.matching.rule import MatchRule
from raglift.metrics.profiles.registry import PROFILES
from raglift.running.evaluation import evaluate
from raglift.running.scoring import rescore
from raglift.types.dataset import Dataset

BEFORE = [2, 4, 1, None, RuntimeError("down")]
AFTER = [1, 2, 4, None, None]


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_rescore_is_evaluate_with_the_same_settings(ranked, profile):
    first = ranked(BEFORE, reranked=AFTER)
    rule = MatchRule(minimum_length=30)
    metrics = ["ndcg", "rr@2", "recall@tokens(30)", "context_tokens"]
    settings = {"metrics": metrics, "ks": (2, 4), "match": rule, "profile": profile}
    again = rescore(first, **settings)
    direct = ranked(BEFORE, reranked=AFTER, **settings)
    np.testing.assert_array_equal(again.scores.values, direct.scores.values)
    assert again.scores.metrics == direct.scores.metrics
    assert (again.notes, again.truncated, again.profile) == (direct.notes, direct.truncated, direct.profile)
    recorded = ("ks", "budgets", "match", "profile", "dataset", "candidates")
    assert {key: again.run.spec[key] for key in recorded} == {key: direct.run.spec[key] for key in recorded}
    assert str(again) == str(direct)
    assert first.run.spec["ks"] == [1, 3]  # the first is as it was


def test_rescoring_keeps_the_match_rule_and_the_profile_unless_others_are_asked_for(ranked):
    first = ranked(BEFORE, match=MatchRule("coverage", threshold=0.7), profile="tutorial")
    again = rescore(first, ks=(2,))
    assert (again.run.spec["match"], again.profile) == (first.run.spec["match"], "tutorial")
    other = rescore(first, ks=(2,), match="containment", profile="default")
    assert (other.run.spec["match"]["mode"], other.profile) == ("containment", "default")


def test_rescore_refuses_what_evaluate_refuses(ranked):
    evaluation = ranked(BEFORE)
    for settings in ({"profile": "trek"}, {"match": "cover"}, {"ks": 3}, {"metrics": ["ndgc"]}):
        with pytest.raises(ConfigurationError):
            rescore(evaluation, **settings)


def test_rescoring_deeper_than_the_run_asked_is_refused():
    data = Dataset.from_dict({"q": ["the text that answers it"]})
    evaluation = evaluate(lambda query: ["the text that answers it"], data, ks=(1,), depth="deep", candidates=10)
    with pytest.raises(ConfigurationError, match="at most 10, the number of candidates"):
        rescore(evaluation, ks=(50,))
