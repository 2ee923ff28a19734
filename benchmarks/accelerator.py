"""How fast models compute on an accelerator, or on a CPU where there is none: throughput, MaxSim, and a sweep.

Embedding: raglift against plain sentence-transformers with as many rows a batch as raglift has for such texts. MaxSim:
raglift's, of many pairs at a time, against a plain loop over texts that multiplies all queries with each, token
embeddings ready before; on a CPU both on one thread, as raglift multiplies there so that no other text changes a score.
The sweep: that of sweep.py against its straightforward loop. By the clock, because an accelerator's time is not the
processor's. Run it as

    python benchmarks/accelerator.py [--device auto] [--dtype auto] [--texts 4000] [--repetitions 3] [--without-sweep]
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.base.cache import Cache
from raglift.components.devices import resolve_device, resolve_dtype, room_on
from raglift.components.embedding import SentenceTransformerEmbedder, embed
from raglift.components.maxsim import TokenMatrix, maxsim
from raglift.components.models import load_sentence_transformer, one_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

sys.path.insert(0, str(Path(__file__).parent))

WORDS = (20, 60, 150)
"""Words of the texts that are embedded; a third of them each."""
QUERIES = 100
MATRICES = 400


def main(arguments: Sequence[str] | None = None) -> int:
    """Time everything on one device, print figures and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--texts", type=int, default=4000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--without-sweep", action="store_true")
    asked = parser.parse_args(arguments)
    device = resolve_device(asked.device)
    dtype = resolve_dtype(asked.dtype, device)
    say(f"{name_of(device)} ({device}), {dtype}; by the clock, median of {asked.repetitions} rounds in turn")
    compare_embedding(asked.texts, device, dtype, asked.repetitions)
    compare_maxsim(device, asked.repetitions)
    if not asked.without_sweep:
        compare_sweep(device, dtype)
    return 0


def name_of(device: str) -> str:
    """Return what the device calls itself."""
    import torch

    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    found = [line.partition(":")[2].strip() for line in cpu_lines() if line.startswith("model name")]
    return f"{found[0] if found else platform.processor()}, {torch.get_num_threads()} threads"


def cpu_lines() -> list[str]:
    """Return what Linux says of the processor; nothing elsewhere."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def compare_embedding(count: int, device: str, dtype: str, repetitions: int) -> None:
    """Print how many texts and tokens a second are embedded."""
    from model_time import pieces

    words = " ".join(pieces(max(count, 600))).split()
    texts = [
        " ".join(words[(begin := 7 * number % (len(words) - 200)) : begin + WORDS[number % len(WORDS)]])
        for number in range(count)
    ]
    texts = list(dict.fromkeys(texts))
    embedder = SentenceTransformerEmbedder(dtype=dtype, device=device)  # type: ignore[arg-type]
    model = load_sentence_transformer("minilm", dtype, device)
    rows = room_on(device, None).rows(256)
    tokens = sum(min(len(ids), 256) for ids in model.tokenizer(texts, truncation=False, verbose=False)["input_ids"])
    ways: dict[str, Callable[[], Any]] = {
        "raglift": lambda: embed(embedder, texts, "document", Cache(None), progress=False).vectors,
        "sentence-transformers": lambda: model.encode(
            texts, batch_size=rows, show_progress_bar=False, normalize_embeddings=True
        ),
    }
    taken, found = timed(ways, repetitions, device)
    nearest = np.abs(found["raglift"] - np.asarray(found["sentence-transformers"], dtype=np.float32)).max()
    say(f"\nembedding, {len(texts):,} texts, {tokens:,} tokens; numbers of a vector differ by at most {nearest:.1e}")
    for name, seconds in taken.items():
        ratio = "" if name == "raglift" else f"   raglift is {seconds / taken['raglift']:.2f} times as fast"
        say(f"  {name:24} {len(texts) / seconds:10,.0f} texts/s {tokens / seconds:12,.0f} tokens/s{ratio}")


def compare_maxsim(device: str, repetitions: int) -> None:
    """Print how many pairs a second are scored."""
    import torch

    made = torch.Generator().manual_seed(0)

    def matrices(count: int, tokens: int) -> list[Any]:
        return [torch.nn.functional.normalize(torch.randn(tokens, 384, generator=made), dim=-1) for _ in range(count)]

    queries, texts = matrices(QUERIES, 16), matrices(MATRICES, 256)
    ours = [[TokenMatrix.of(matrix.to(device)) for matrix in some] for some in (queries, texts)]
    pairs = [(query, text) for text in ours[1] for query in ours[0]]
    stacked, there = torch.stack(queries).to(device), [text.to(device) for text in texts]

    def plain() -> Any:
        with torch.inference_mode(), one_thread() if device == "cpu" else nullcontext():
            return torch.stack([(stacked @ text.T).amax(dim=2).sum(dim=1) for text in there]).cpu().numpy()

    ways: dict[str, Callable[[], Any]] = {
        "raglift": lambda: np.array([found.sum() for found in maxsim(pairs)]),
        "plain batched loop": plain,
    }
    taken, found = timed(ways, repetitions, device)
    nearest = np.abs(found["raglift"].reshape(MATRICES, QUERIES) - found["plain batched loop"]).max()
    say(f"\nMaxSim, {len(pairs):,} pairs of 16 and 256 tokens; scores differ by at most {nearest:.1e}")
    for name, seconds in taken.items():
        ratio = "" if name == "raglift" else f"   raglift is {seconds / taken['raglift']:.2f} times as fast"
        say(f"  {name:24} {len(pairs) / seconds:10,.0f} pairs/s{ratio}")


def compare_sweep(device: str, dtype: str) -> None:
    """Print how long the sweep and the loop of sweep.py take."""
    import sweep

    say("")
    sweep.main(["--repetitions", "1", "--device", device, "--dtype", dtype])


def timed(ways: dict[str, Callable[[], Any]], repetitions: int, device: str) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the median seconds of each way, and what it returned; once before, nothing is timed."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    found: dict[str, Any] = {name: way() for name, way in ways.items()}
    for _ in range(repetitions):
        for name, way in ways.items():
            wait_for(device)
            began = time.perf_counter()
            found[name] = way()
            wait_for(device)
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(each) for name, each in times.items()}, found


def wait_for(device: str) -> None:
    """Wait until an accelerator has finished."""
    import torch

    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
    if device == "mps":
        torch.mps.synchronize()


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
