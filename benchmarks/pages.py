"""Does the page of 20,000 queries open in a browser, and how long does one wait?

The evaluation is that of `overhead.py`: 10 hits a query out of 5,000 chunks, one literal text as the label. The page is
written and opened in Chromium as a file; then a query is looked for, an outcome chosen, and a query opened. Run it as

    python benchmarks/pages.py [--sizes 1000 20000]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overhead import HITS, AllAtOnce, prepared

import raglift as rl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIZES = (1_000, 20_000)
PATIENCE = 120
"""Seconds after which a page counts as not opened."""
STEPS = {
    "write": "write the page",
    "open": "open it, until the queries are there",
    "search": "search for one query",
    "choose": "choose the queries of an outcome",
    "show": "open a query",
}


def measured(size: int, browser: Any, folder: Path) -> dict[str, float]:
    """Return the seconds of each step, the megabytes of the page, and how many queries it lists."""
    dataset, answers = prepared(size)
    evaluation = rl.evaluate(AllAtOnce(answers), dataset, depth="deep", candidates=HITS, progress=False)
    path = folder / f"{size}.html"
    found = {"write": timed(lambda: evaluation.report(path)), "MB": path.stat().st_size / 1e6}
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE * 1000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    status = page.get_by_role("status")

    def opened() -> None:
        page.goto(f"{path.as_uri()}#queries")
        page.wait_for_selector(".rows .id")

    def searched() -> None:
        page.get_by_label("Search").fill(f"question {size - 1}?")
        status.get_by_text(f"1 of {size:,} queries").wait_for()

    def chosen() -> None:
        page.get_by_label("Search").fill("")
        page.locator(".chip").filter(has_text="Found").click()
        status.get_by_text(f"of {size:,} queries").wait_for()

    def shown() -> None:
        row = page.locator(".rows .id").nth(2)
        name = row.inner_text()
        row.click()
        page.locator(".query-head .id").get_by_text(name, exact=True).wait_for()

    for name, step in (("open", opened), ("search", searched), ("choose", chosen), ("show", shown)):
        found[name] = timed(step)
    found["rows"] = page.locator(".rows .id").count()
    page.close()
    if wrong:
        raise RuntimeError(f"{size:,} queries: the page says {wrong[0]}")
    return found


def timed(step: Callable[[], object]) -> float:
    """Return how long a step takes."""
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a column for each size."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    sizes = sorted(parser.parse_args(arguments).sizes)
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("found no chromium; expected it: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        found = [measured(size, browser, Path(folder)) for size in sizes]
        browser.close()
    say(f"{'queries':40}" + "".join(f"{size:>10,}" for size in sizes))
    for name, words in STEPS.items():
        say(f"{words + ', s':40}" + "".join(f"{each[name]:10.2f}" for each in found))
    say(f"{'the page, MB':40}" + "".join(f"{each['MB']:10.1f}" for each in found))
    say(f"{'queries drawn at once':40}" + "".join(f"{each['rows']:10,.0f}" for each in found))


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
