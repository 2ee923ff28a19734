"""What the site shows beside the pages of this folder (notebooks, changelog, SECURITY.md), and what search finds first.

The pages link to these files where they are in the repository, so that the links work there too; on the site the links
lead to the pages that are made of them.
"""

from __future__ import annotations

import base64
import html
import json
import os
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files, InclusionLevel

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
FROM_THE_TOP = {"CHANGELOG.md": "reference/changelog.md", "SECURITY.md": "reference/security.md"}
"""Files of the repository, and the pages they become."""
BOOSTS = {
    "tutorials": 1.0,
    "how-to": 1.5,
    "concepts": 2.0,
    "reference/metrics.md": 3.0,
    "reference/metrics": 1.0,
    "reference": 0.1,
    "": 1.0,
}
"""How much the pages of a folder count in a search: pages that teach come before pages to look something up in."""
RARELY_WANTED = re.compile(r"reference/(api/|decisions/|licences|changelog|architecture)")
LEAST = 0.01

_LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")


def notebooks() -> dict[str, str]:
    """Return the page of each notebook, both as paths: the first from the root, the second from docs/."""
    return {f"notebooks/{path.name}": f"tutorials/{path.stem}.md" for path in sorted(ROOT.glob("notebooks/*.ipynb"))}


def elsewhere() -> dict[str, str]:
    """Return the pages that are made of files outside docs/."""
    return FROM_THE_TOP | notebooks()


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of files outside docs/."""
    for name, page in FROM_THE_TOP.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=relinked(text, name, page)))
    for name, page in notebooks().items():
        text, pictures = read_notebook(ROOT / name, Path(page).stem)
        files.append(File.generated(config, page, content=relinked(text, name, page)))
        for picture, content in pictures.items():
            files.append(File.generated(config, f"tutorials/{picture}", content=content))
    for path in [*ROOT.glob("notebooks/files/*.py"), *ROOT.glob("notebooks/files/*/*.jsonl")]:
        uri = f"tutorials/{path.relative_to(ROOT / 'notebooks').as_posix()}"
        files.append(File.generated(config, uri, abs_src_path=str(path), inclusion=InclusionLevel.INCLUDED))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Point links to files outside docs/ at their pages, and say how much the page counts in a search."""
    uri = page.file.src_uri
    boost = LEAST if RARELY_WANTED.match(uri) else next(BOOSTS[folder] for folder in BOOSTS if uri.startswith(folder))
    page.meta.setdefault("search", {}).setdefault("boost", boost)
    return relinked(markdown, f"docs/{uri}", uri) if page.file.generated_by is None else markdown


def relinked(text: str, file: str, page: str) -> str:
    """Return a text with its links as they have to be on the site.

    Args:
        text: in Markdown.
        file: where it is in the repository; its links start there.
        page: which page it is or becomes, from docs/.
    """

    def changed(found: re.Match[str]) -> str:
        before, link, after = found.groups()
        target = posixpath.normpath(posixpath.join(posixpath.dirname(file), link))
        if target in elsewhere():
            target = elsewhere()[target]
        elif target.startswith("docs/"):
            target = target.removeprefix("docs/")
        else:
            return found[0]
        return before + os.path.relpath(target, posixpath.dirname(page) or ".") + after

    return _LINK.sub(changed, text)


def read_notebook(path: Path, name: str) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as Markdown, and the pictures that it shows, by the paths under which the Markdown names them.

    Args:
        path: the notebook, saved with its outputs.
        name: the folder of its pictures.
    """
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"]).strip("\n")
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        if source:
            parts.append(_fence("python", source))
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                picture = f"{name}/{len(pictures) + 1}.png"
                pictures[picture] = base64.b64decode(data["image/png"])
                parts.append(f"![What the code above draws]({picture})")
            elif "text/html" in data:
                parts.append(_shown("".join(data["text/html"])))
            else:
                parts.append(_printed("".join(output.get("text", data.get("text/plain", ""))).rstrip("\n")))
    return "\n\n".join([*parts[:1], _where_from(path), *parts[1:]]) + "\n", pictures


def _where_from(path: Path) -> str:
    return (
        f"*This page is the notebook `notebooks/{path.name}` with what it printed when it was run last; open it in "
        "Jupyter to run it yourself.*"
    )


def _fence(language: str, text: str) -> str:
    marks = "`" * max(3, *(len(found) + 1 for found in re.findall(r"`+", text)), 3)
    return f"{marks}{language}\n{text}\n{marks}"


def _printed(text: str) -> str:
    """Return what code printed as HTML that a search passes over: it should find a page by what it says."""
    return f'<div class="highlight" data-search-exclude><pre><code>{html.escape(text)}</code></pre></div>'


def _shown(shown: str) -> str:
    """Return HTML as Markdown passes it through unchanged: in one block, which an empty line would end."""
    inside = re.sub(r"\n\s*(?=\n)", "", shown.strip())
    return f'<div class="notebook-output" data-search-exclude>{inside}</div>'
