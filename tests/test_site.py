"""The site of the manual builds without a warning, asks no other host for anything, and leads to every page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the extra docs is not installed; .ci/run installs it and runs these tests")
pytest.importorskip("material")

ROOT = Path(__file__).parent.parent
CONFIG = ROOT / "docs" / "site" / "mkdocs.yml"
# What a browser loads by itself: scripts, styles, images, fonts, frames. Links that a reader follows are not among it.
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|audio|video|embed)\b[^>]*?\bsrc=["']?([^"'\s>]+)"""
    r"""|<link\b(?![^>]*rel=["']?(?:canonical|next|prev))[^>]*?\bhref=["']?([^"'\s>]+)"""
)
IN_STYLES = re.compile(r"""(?:url\(|@import\s+)["']?((?:https?:)?//[^"')\s]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as CI builds it, where every warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(CONFIG), "-d", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_the_browser_loads_nothing_from_another_host(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = ["".join(found) for found in LOADED.findall(page.read_text(encoding="utf-8"))]
        assert loaded, page
        assert [address for address in loaded if re.match(r"(https?:)?//", address)] == [], page
    for style in site.rglob("*.css"):
        assert IN_STYLES.findall(style.read_text(encoding="utf-8")) == [], style


def test_the_search_is_part_of_the_site(site: Path) -> None:
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "noise floor" in index


def test_every_page_of_the_repository_is_on_the_site(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages if not (site / page).is_file()} == set()
    assert not list(site.rglob("*.py"))
    assert not (site / "site").exists()


def test_protocol_changelog_and_examples_are_on_the_site(site: Path) -> None:
    for page in ("reference/protocol", "reference/oracle-proto", "development/changelog", "examples/vendor-node"):
        assert (site / f"{page}.html").is_file()
    assert "PROTOCOL.md" not in re.findall(r'href="([^"]+)"', (site / "index.html").read_text(encoding="utf-8"))
