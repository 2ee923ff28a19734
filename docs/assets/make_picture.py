"""Take the pictures of a report: its summary, and one question with its hits before and after reranking.

    python docs/assets/make_picture.py --fonts build/fonts

`make picture` fetches the fonts first: a machine that renders pages often has none but DejaVu. The report itself brings
no font; it names fonts that most computers have, and Source Serif and Roboto are among them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

import raglift as rl
from raglift.running import LocalSystem, build_retriever

HERE = Path(__file__).resolve().parent
PICTURES = {"summary.png": ("", 640), "report.png": ("#q=horn-keeps-going", 860)}
"""Each picture, with what of the report it shows, and its height; the question is in other words than its passage."""
WIDTH = 1200
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
    <test name="family" compare="contains"><string>DejaVu Sans</string></test>
    <edit name="family" mode="assign" binding="same"><string>Roboto</string></edit>
  </match>
</fontconfig>
"""


def write_report(path: Path) -> None:
    """Evaluate what `raglift demo` does, and write the report."""
    data = rl.load_dataset("lighthouse")
    retriever = build_retriever(data, LocalSystem("hybrid"))
    rl.evaluate(retriever, data, reranker="cross-encoder", k=20, candidates=20).report(path)


def take(page_file: Path, folder: Path) -> None:
    """Open the report in Chromium, and save what is on the screen."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, (place, height) in PICTURES.items():
            size = {"width": WIDTH, "height": height}
            page = browser.new_page(viewport=size, color_scheme="light", device_scale_factor=1.5)
            page.goto(page_file.as_uri() + place)
            page.wait_for_timeout(5000)
            page.screenshot(path=folder / name)
        browser.close()


def main() -> None:
    """Take the pictures, with the fonts of a folder where one is given."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--fonts", type=Path, help="Folder with TrueType files, at any depth.")
    parser.add_argument("-o", "--output", type=Path, default=HERE, help="Folder for the pictures.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.fonts:
            configuration = Path(folder) / "fonts.conf"
            configuration.write_text(
                FONTS.format(folder=given.fonts.resolve(), cache=Path(folder) / "cache"), encoding="utf-8"
            )
            os.environ["FONTCONFIG_FILE"] = str(configuration)
        report = Path(folder) / "report.html"
        write_report(report)
        take(report, given.output)


if __name__ == "__main__":
    main()
