"""The Python that the README shows runs, in order, in an empty folder, and prints what the README shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_python_blocks_run_and_print_the_table_shown(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 3
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", "\n".join(blocks)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = re.search(r"print\(evaluation\)\n```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert shown
    # The last digits depend on the processor (bfloat16 or not), so the retriever's own column is compared exactly
    # and the names of rows and stages.
    assert rows(done.stdout) == rows(shown[1])
    assert (tmp_path / "runs" / "first" / "run.json").is_file()


def test_the_python_of_the_metrics_page_holds() -> None:
    page = (README.parent / "docs" / "metrics.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert blocks
    subprocess.run([sys.executable, "-c", "\n".join(blocks)], check=True)


def rows(text: str) -> list[tuple[str, str, str]]:
    """Return metric, value before, and n of each row of a table."""
    return re.findall(r"^(\w+@\d+) +(\d\.\d{4}) .* (\d+)$", text, re.MULTILINE)
