"""Where models compute: the device, and the number type that suits it.

Devices are named as PyTorch names them. Whether one is there is asked of PyTorch only where a name or the machine calls
for it, so that what is in the cache is used without loading PyTorch.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from raglift.errors import ConfigurationError

Dtype = Literal["auto", "float32", "bfloat16", "float16"]
"""What weights and activations are computed in. `auto` is the number type of the model's own files."""

OWN = "own"
"""The number type that a model has of its own: that in which it computes where nothing is said of it."""

AUTO = "auto"
"""The device that is best of those that are there: a CUDA device, else Apple's MPS, else the CPU."""
CPU = "cpu"
"""The processor."""

_NAME = re.compile(r"auto|cpu|mps|cuda(:[0-9]{1,3})?")
_DRIVERS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd", "/dev/dxg")
"""What Linux has where a GPU of NVIDIA or AMD may be used, directly or from Windows."""


def checked_device(device: object) -> str:
    """Return the name of a device, which need not be there."""
    if isinstance(device, str) and _NAME.fullmatch(device):
        return device
    raise ConfigurationError(f"device: found {device!r}; expected auto, cpu, cuda, cuda:1 (any number) or mps")


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


def is_there(device: str) -> bool:
    """Whether a device is on this machine, as far as PyTorch knows."""
    if checked_device(device) in (AUTO, CPU):
        return True
    try:
        import torch
    except ImportError:
        return True  # which is told where a model is loaded
    kind, _, number = device.partition(":")
    if kind == "mps":
        return bool(torch.backends.mps.is_available())
    return bool(torch.cuda.is_available()) and int(number or 0) < torch.cuda.device_count()


def require_device(device: str, dtype: str | None = None) -> None:
    """Raise for a device that is not there, or that does not compute in a number type."""
    if not is_there(device):
        raise ConfigurationError(f"device: found {device!r}, which PyTorch does not find here; expected auto or cpu")
    if device not in (AUTO, CPU) and dtype == "bfloat16" and not computes_in_bfloat16(device):
        raise ConfigurationError(
            f"dtype: found 'bfloat16', in which the device {device} does not compute; expected float16 or float32"
        )


def computes_in_bfloat16(device: str) -> bool:
    """Whether a device that is there has bfloat16 in its hardware, or, as MPS, in its kernels."""
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


def resolve_dtype(dtype: Dtype, device: str = CPU) -> str:
    """Return the number type to compute in: what was given, and `OWN` for `auto`.

    bfloat16 is 2 to 4 times as fast on processors with AMX or AVX512-BF16, at a cosine above 0.999 to the float32
    vectors, and on GPUs with tensor cores. It may give equal scores to what float32 tells apart, and on some processors
    the last bits depend on the batch, so it is never chosen unasked.
    """
    if dtype not in (*get_args(Dtype), OWN):
        raise ConfigurationError(f"dtype: found {dtype!r}; expected one of {', '.join(get_args(Dtype))}")
    if dtype != AUTO:
        return dtype
    require_device(device)
    return OWN


def here(device: str) -> str:
    """Return a device that is there, else the CPU: for counting tokens of what is computed elsewhere."""
    return device if is_there(device) else CPU


def computed_on(device: str, batch_size: int) -> str:
    """Return what the identity of vectors and scores says of where they are computed; nothing of a CPU.

    The last bits of what an accelerator computes are others, and with some models they depend on how many rows a batch
    has.
    """
    kind = device.partition(":")[0]
    return "" if kind == CPU else f":{kind}:{batch_size} rows"
