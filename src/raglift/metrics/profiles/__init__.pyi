from .hits import Profile as Profile
from .registry import DEFAULT as DEFAULT
from .registry import PROFILES as PROFILES
