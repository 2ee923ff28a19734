"""Where models compute: the device, the number type that suits it, and how many tokens its memory takes at a time.

Devices are named as PyTorch names them. Whether one is there is asked of PyTorch only where a name or the machine calls
for it, so that what is in the cache is used without loading PyTorch.
"""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from raglift.base.batches import Room
from raglift.errors import ConfigurationError

Dtype = Literal["auto", "float32", "bfloat16", "float16"]
"""What weights and activations are computed in. `auto` is the number type of the model's own files; for the embedded
model it is bfloat16 where the device computes in it, else float32."""

OWN = "own"
"""The number type that a model has of its own: that in which it computes where nothing is said of it."""

AUTO = "auto"
"""The device that is best of those that are there: a CUDA device, else Apple's MPS, else the CPU."""
CPU = "cpu"
"""The processor."""

_NAME = re.compile(r"auto|cpu|mps|cuda(:[0-9]{1,3})?")
_KINDS = (AUTO, CPU, "cuda", "cuda:1", "mps")
_EXPECTED = "auto, cpu, cuda, cuda:1 (any number) or mps"
_DRIVERS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd", "/dev/dxg")
"""What Linux has where a GPU of NVIDIA or AMD may be used, directly or from Windows."""
_SETTINGS = re.compile(r"(?P<name>.*?)\s*\((?P<settings>[^()]*)\)\s*", re.DOTALL)
_SETTING = re.compile(r"device\s*=\s*(?P<device>\S*)")

CPU_TOKENS = 8192
"""So many tokens, padding included, are in a batch on a CPU: 32 texts of 256. More of them are no faster."""
_TOKENS_OF_A_GIBIBYTE = 4096
"""Of memory that an accelerator has: for a model of 7 billion parameters this is near the most, and where it is more,
batches are halved."""
_MOST_TOKENS = 2**19
_TOKENS_ELSEWHERE = 2**16
"""Where another machine computes, whose memory is not known: for 16 GiB."""


def checked_device(device: object) -> str:
    """Return the name of a device, which need not be there.

    Raises:
        ConfigurationError: it is none.
    """
    if isinstance(device, str) and _NAME.fullmatch(device):
        return device
    near = get_close_matches(device.lower(), _KINDS, n=1) if isinstance(device, str) else []
    raise ConfigurationError(
        f"device: found {device!r}{f' (did you mean {near[0]!r}?)' if near else ''}; expected {_EXPECTED}"
    )


def resolve_device(device: str = AUTO) -> str:
    """Return the device that a name stands for, which need not be there unless the name is `auto`.

    Raises:
        ConfigurationError: the name is not a device's.
    """
    return _best_device() if checked_device(device) == AUTO else device


@lru_cache(maxsize=1)
def _best_device() -> str:
    if sys.platform == "linux" and "torch" not in sys.modules and not any(Path(path).exists() for path in _DRIVERS):
        return CPU
    try:
        import torch
    except ImportError:
        return CPU
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else CPU


def require_device(device: str, dtype: str | None = None) -> None:
    """Raise for a device that is not there, or that does not compute in a number type.

    Args:
        device: as `resolve_device` returns it.
        dtype: `float32`, `bfloat16` or `float16`; None for any.

    Raises:
        ConfigurationError: PyTorch knows of no such device here, or the device lacks the number type.
    """
    if checked_device(device) in (AUTO, CPU):
        return
    try:
        import torch
    except ImportError:
        return  # which is told where a model is loaded
    cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    mps = torch.backends.mps.is_available()
    kind, _, number = device.partition(":")
    if not mps if kind == "mps" else int(number or 0) >= cuda:
        there = ["auto", CPU, *(f"cuda:{each}" for each in range(cuda)), *(["mps"] if mps else [])]
        built = (
            f"; PyTorch {torch.__version__} is built without CUDA"
            if kind == "cuda" and not cuda and not _with_cuda()
            else ""
        )
        raise ConfigurationError(f"device: found {device!r}, which is not there{built}; expected {_either(there)}")
    if dtype == "bfloat16" and not computes_in_bfloat16(device):
        raise ConfigurationError(
            f"dtype: found 'bfloat16', in which the device {device} does not compute; expected float16 or float32"
        )


def _with_cuda() -> bool:
    import torch

    return torch.version.cuda is not None or getattr(torch.version, "hip", None) is not None


def _either(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def computes_in_bfloat16(device: str) -> bool:
    """Whether a device has bfloat16 in its hardware, or, as MPS, in its kernels.

    Args:
        device: one that is there.
    """
    if device == CPU:
        try:
            flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        except OSError:  # not Linux
            return False
        return "avx512_bf16" in flags or "amx_bf16" in flags
    import torch

    if device == "mps":
        try:
            torch.ones(1, dtype=torch.bfloat16, device=device)
        except (TypeError, RuntimeError):  # before macOS 14
            return False
        return True
    with torch.cuda.device(device):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))


def resolve_dtype(dtype: Dtype, device: str = CPU, *, is_embedded: bool = True) -> str:
    """Return the number type to compute in.

    bfloat16 is 2 to 4 times as fast on processors with AMX or AVX512-BF16, at a cosine above 0.999 to the
    float32 vectors, and on GPUs with tensor cores. With a model of the user's it may give equal scores to what the
    user's own code tells apart, so it is never chosen there.

    Args:
        dtype: a number type; or `auto`.
        device: as `resolve_device` returns it.
        is_embedded: whether the model is the one that comes with raglift.

    Returns:
        What was given; for `auto`, bfloat16 or float32 for the embedded model, and `OWN` for another.

    Raises:
        ConfigurationError: the name is not a number type; or `auto` with a device that is not there.
    """
    if dtype not in (*get_args(Dtype), OWN):
        raise ConfigurationError(f"dtype: found {dtype!r}; expected one of {', '.join(get_args(Dtype))}")
    if dtype != AUTO:
        return dtype
    require_device(device)
    if not is_embedded:
        return OWN
    return "bfloat16" if computes_in_bfloat16(device) else "float32"


def is_there(device: str) -> bool:
    """Whether a device is there, on this machine."""
    try:
        require_device(device)
    except ConfigurationError:
        return False
    return True


def here(device: str) -> str:
    """Return a device that is there, else the CPU: for counting tokens of what is computed elsewhere."""
    return device if is_there(device) else CPU


def memory_of(device: str) -> int | None:
    """Return how many bytes of memory an accelerator has for PyTorch; None for the CPU.

    Args:
        device: one that is there.
    """
    if device == CPU:
        return None
    import torch

    if device == "mps":
        return int(torch.mps.recommended_max_memory())
    return int(torch.cuda.get_device_properties(device).total_memory)


def tokens_at_once(device: str) -> int:
    """Return how many tokens a batch holds unless told: on an accelerator as its memory allows, a power of 2.

    The whole memory counts, not what is free just now, so that it is the same each time.

    Args:
        device: one that is there.
    """
    memory = memory_of(device)
    if memory is None:
        return CPU_TOKENS
    tokens = max(memory * _TOKENS_OF_A_GIBIBYTE // 2**30, CPU_TOKENS)
    return min(1 << (tokens.bit_length() - 1), _MOST_TOKENS)


def room_on(device: str, batch_tokens: int | None) -> Room:
    """Return how much a batch may hold on a device.

    Args:
        device: as `resolve_device` returns it.
        batch_tokens: as the user said; None to go by the device's memory.
    """
    if batch_tokens is not None:
        return Room(batch_tokens, is_given=True)
    return Room(tokens_at_once(device) if is_there(device) else _TOKENS_ELSEWHERE)


def checked_batch_tokens(batch_tokens: object) -> int | None:
    """Return the most tokens of a batch; None for what the device's memory allows.

    Raises:
        ConfigurationError: no integer above 0.
    """
    if batch_tokens is None or (type(batch_tokens) is int and batch_tokens >= 1):
        return batch_tokens
    raise ConfigurationError(f"batch_tokens: found {batch_tokens!r}; expected an integer, 1 or more, or None")


def computed_on(device: str, batch_tokens: int | None) -> str:
    """Return what the identity of vectors and scores says of where they are computed; nothing of a CPU's usual way.

    The last bits of what an accelerator computes are others, and with some models they depend on how many rows a batch
    has.

    Args:
        device: as `resolve_device` returns it.
        batch_tokens: as the user said.
    """
    kind = device.partition(":")[0]
    return ("" if kind == CPU else f":{kind}") + ("" if batch_tokens is None else f":{batch_tokens} tokens")


def split_device(name: str) -> tuple[str, str | None]:
    """Return the name of a model without its device, and the device: `minilm(device=cuda:1)` has one.

    Other settings stay: `minilm(late,device=cuda)` is `minilm(late)` on `cuda`.

    Raises:
        ConfigurationError: what is named is not a device.
    """
    found = _SETTINGS.fullmatch(name)
    if found is None:
        return name, None
    settings = [each.strip() for each in found["settings"].split(",")]
    devices = [asked["device"] for each in settings if (asked := _SETTING.fullmatch(each))]
    if not devices:
        return name, None
    if len(devices) > 1:
        raise ConfigurationError(f"device: found {len(devices)} of them in {name!r}; expected one")
    rest = [each for each in settings if not _SETTING.fullmatch(each)]
    return found["name"] + (f"({','.join(rest)})" if rest else ""), checked_device(devices[0])
