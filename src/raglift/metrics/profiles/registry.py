"""Other tools' conventions, by name: `profile="autorag"`. Each file holds one tool's; `hits` what several count."""

from __future__ import annotations

from raglift.metrics.profiles import autorag, llama_index, ragas, trec, tutorial
from raglift.metrics.profiles.hits import Profile

DEFAULT = Profile("default", "raglift: the page on metrics")
"""raglift's own conventions, from which the others differ."""

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (DEFAULT, tutorial.PROFILE, autorag.PROFILE, trec.PROFILE, llama_index.PROFILE, ragas.PROFILE)
}
"""The profiles, by name; the default first."""
