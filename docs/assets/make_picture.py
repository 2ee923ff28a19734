"""Take the pictures of the documentation: each command of docs/gallery.md is run, and its report opened in Chromium.

    python docs/assets/make_picture.py --fonts build/fonts

`make picture` fetches the fonts first: a machine that renders pages often has none but DejaVu. The report itself brings
no font; it names fonts that most computers have, and Source Serif and Roboto are among them.
"""

from __future__ import annotations

import argparse
import base64
import html
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import raglift as rl
from raglift.grading import read_human_sample
from raglift.testing import OpenAIServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HERE = Path(__file__).resolve().parent
SECTION = re.compile(r"```sh\n(.+?)```\n\n!\[[^\]]*\]\(assets/(\S+)\)", re.DOTALL)
"""The commands of a section of the gallery, and its picture."""
README = {"summary.png": ("", 640), "report.png": ("#queries?query=horn-keeps-going", 860)}
"""Further pictures of evaluation.html, with what of it they show, and their heights."""
SCROLLED = {"corrected.webp": "h3:has-text('corrected by')"}
"""What is at the top of a picture that does not begin with the page."""
WIDTH = 1200
HEIGHT = 760
QUALITY = 80
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>{folder}</dir>
  <cachedir>{cache}</cachedir>
  <alias binding="same"><family>Source Serif 4</family><prefer><family>Source Serif Pro</family></prefer></alias>
  <alias binding="same"><family>system-ui</family><prefer><family>Roboto</family></prefer></alias>
  <alias binding="same"><family>sans-serif</family><prefer><family>Roboto</family></prefer></alias>
  <match target="pattern">
    <test name="family" compare="eq"><string>DejaVu Sans</string></test>
    <edit name="family" mode="assign" binding="same"><string>Roboto</string></edit>
  </match>
</fontconfig>
"""
SWEEP = """\
dataset: lighthouse
chunkers: [recursive:400/0, recursive:1000/0, recursive:1000/100+headings]
embeddings: [bge-small]
retrievers: [bm25, hybrid]
match: coverage
"""
AGENT = '''\
"""An agent that searches for the question, and for its second half."""

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

import raglift as rl
from raglift.running import LocalSystem, build_retriever


class Manual(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        hits = index.retrieve([query], 5)[0].chunks
        return [Document(hit.text, metadata={"source": hit.doc_id, "start_index": hit.start}) for hit in hits]


class State(TypedDict):
    messages: list
    documents: list


def search(state):
    words = state["messages"][-1].content.split()
    found = [Manual().invoke(" ".join(part)) for part in (words, words[len(words) // 2 :])]
    return {"documents": found[0][:3] + found[1][:2]}


index = build_retriever(rl.load_dataset("lighthouse"), LocalSystem("bm25"))
agent = StateGraph(State).add_node("search", search).add_edge(START, "search").compile(name="two searches")
'''


def counting_judge(messages: list[dict[str, Any]], schema: object) -> dict[str, object]:  # noqa: ARG001
    """Grade by the words that question and passage share: it stands in for a language model."""
    blocks = re.findall(r"<<<\w+ (\w+)\n(.*?)\n\1 \w+>>>", messages[1]["content"], re.DOTALL)
    question, passage = (set(re.findall(r"\w{5,}", text.lower())) for _, text in blocks)
    return {"reason": "They share words.", "grade": min(len(question & passage), 3)}


def run(line: str) -> str:
    """Run a command of the gallery, and return what it printed; people's grades are those of the corpus's labels."""
    command = [sys.executable, "-m", *shlex.split(line)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 — of the gallery
    if "labels sample" in line:
        evaluations = {Path(word).name: rl.load_evaluation(word) for word in command if word.startswith("runs/")}
        sample = read_human_sample("to_grade.jsonl").with_labels(evaluations, rl.load_dataset("lighthouse"))
        graded = sample.with_grades({(pair.query, pair.chunk): pair.grade or 0 for pair in sample.pairs})
        graded.write("to_grade.jsonl", overwrite=True)
    return printed


def take(browser: Browser, page_file: Path, picture: Path, place: str = "", height: int = HEIGHT) -> None:
    """Save what is on the screen when a page is opened, as WebP or PNG."""
    size = {"width": WIDTH, "height": height}
    page = browser.new_page(viewport=size, color_scheme="light")
    page.goto(page_file.resolve().as_uri() + place)
    page.wait_for_timeout(3000)
    if picture.name in SCROLLED:
        above = page.locator(SCROLLED[picture.name]).first
        above.evaluate("heading => scrollBy(0, heading.getBoundingClientRect().top - 80)")
    is_small = picture.suffix == ".webp"
    form = {"format": "webp", "quality": QUALITY} if is_small else {"format": "png"}
    clip = {"x": 0, "y": page.evaluate("scrollY"), **size, "scale": 1 if is_small else 1.5}
    taken = page.context.new_cdp_session(page).send("Page.captureScreenshot", form | {"clip": clip})
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_bytes(base64.b64decode(taken["data"]))
    page.close()


def take_all(output: Path) -> None:
    """Run the commands of the gallery in the working folder, and take all pictures."""
    from playwright.sync_api import sync_playwright

    Path("sweep.yaml").write_text(SWEEP, encoding="utf-8")
    Path("my_agent.py").write_text(AGENT, encoding="utf-8")
    with sync_playwright() as playwright:
        program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for commands, picture in SECTION.findall((HERE.parent / "gallery.md").read_text(encoding="utf-8")):
            printed = [run(line) for line in commands.splitlines()][-1]
            written = re.findall(r"\S+\.html", commands)
            page_file = Path(written[-1] if written else "printed.html")
            if not written:
                text = f"<meta charset=utf-8><pre style='font-size:15px;margin:2em'>$ {html.escape(commands + printed)}"
                page_file.write_text(text, encoding="utf-8")
            take(browser, page_file, output / picture)
        for name, (place, height) in README.items():
            take(browser, Path("evaluation.html"), output / name, place, height)
        browser.close()


def main() -> None:
    """Take the pictures, with the fonts of a folder where one is given."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--fonts", type=Path, help="Folder with TrueType files, at any depth.")
    parser.add_argument("-o", "--output", type=Path, default=HERE, help="Folder for the pictures.")
    given = parser.parse_args()
    output = given.output.resolve()
    with tempfile.TemporaryDirectory() as folder, OpenAIServer(replies=counting_judge) as server:
        if given.fonts:
            configuration = Path(folder) / "fonts.conf"
            configuration.write_text(
                FONTS.format(folder=given.fonts.resolve(), cache=Path(folder) / "cache"), encoding="utf-8"
            )
            os.environ["FONTCONFIG_FILE"] = str(configuration)
        os.environ |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        os.chdir(folder)
        take_all(output)


if __name__ == "__main__":
    main()
