"""Other tools' conventions, by name: `profile="autorag"`. Each file holds one tool's."""

from raglift.metrics.profiles import autorag, tutorial
from raglift.metrics.profiles.record import Function, Profile

__all__ = ["DEFAULT", "PROFILES", "Function", "Profile"]

DEFAULT = Profile("default", "raglift: the page on metrics")
"""raglift's own conventions, from which the others differ."""

PROFILES: dict[str, Profile] = {profile.name: profile for profile in (DEFAULT, tutorial.PROFILE, autorag.PROFILE)}
"""The profiles, by name; the default first."""
