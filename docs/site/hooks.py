"""Adds to the site what is kept outside docs/: protocol, changelog and examples. Links to them work on a code host.

Other files of the repository are no part of the site: a link to one is a warning, and the strict build fails.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

DOCS = Path(__file__).parent.parent
ROOT = DOCS.parent
PAGES = {  # a file of the repository, and the page that shows it
    ROOT / "proto" / "PROTOCOL.md": "reference/protocol.md",
    ROOT / "proto" / "oracle" / "v1" / "oracle.proto": "reference/oracle-proto.md",
    ROOT / "CHANGELOG.md": "development/changelog.md",
    **{folder: f"examples/{folder.name}.md" for folder in sorted((ROOT / "examples").iterdir()) if folder.is_dir()},
}
SHOWN = {
    ".py": "python",
    ".toml": "toml",
    ".js": "javascript",
    ".proto": "protobuf",
    ".yml": "yaml",
    ".patch": "diff",
    "": "text",
}
NOT_SHOWN = {"__pycache__", ".pytest_cache"}  # what running an example leaves behind
MOST = 20  # lines of a data file
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=[#)])")


def on_files(files: Files, config: Any) -> Files:
    """All files of docs/ and those of PAGES."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=_page(source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page with its links to files outside docs/ led to the pages that show them."""
    sources = {name: source for source, name in PAGES.items()}
    here = sources.get(page.file.src_uri, DOCS / page.file.src_uri)
    return LINK.sub(lambda link: _target(link[1], here.parent, page.file.src_uri), markdown)


def _target(link: str, folder: Path, page: str) -> str:
    shown = PAGES.get(Path(os.path.normpath(folder / link)))
    return os.path.relpath(shown, os.path.dirname(page)) if shown else link


def _page(source: Path) -> str:
    if source.suffix == ".md":
        return source.read_text(encoding="utf-8")
    if source.is_file():
        return f"# {source.name}\n\n{_listing(source)}"
    parts = [f"# examples/{source.name}\n"]
    for file in sorted(path for path in source.rglob("*") if path.is_file() and not NOT_SHOWN & {*path.parts}):
        parts.append(f"## {file.relative_to(source)}\n\n{_listing(file)}")
    return "\n".join(parts)


def _listing(file: Path) -> str:
    """A file as a block of code; of data its first lines; a notebook cell by cell."""
    if file.suffix == ".ipynb":
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        return "\n\n".join(_cell(cell["cell_type"], "".join(cell["source"])) for cell in cells)
    lines = file.read_text(encoding="utf-8").splitlines()
    if file.suffix not in SHOWN:
        lines = [*lines[:MOST], "…"] if len(lines) > MOST else lines
    return "\n".join([f"```{SHOWN.get(file.suffix, 'text')}", *lines, "```", ""])


def _cell(kind: str, text: str) -> str:
    return f"```python\n{text}\n```" if kind == "code" else re.sub(r"^#", "###", text)
