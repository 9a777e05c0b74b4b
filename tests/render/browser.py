"""A real browser for tests: Debian's chromium, driven by playwright. Tests that need it skip where it is missing."""

import contextlib
import http.server
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EXECUTABLE = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
ARGUMENTS = (
    "--no-sandbox",  # it runs as root in CI, on pages of our own
    "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
)  # fmt: skip
STRICT = "default-src 'none'; style-src 'none'; script-src 'none'; sandbox"  # as servers of CI artefacts send it


def reason_without_browser() -> str | None:
    """Why no browser can be driven here, if none can."""
    try:
        import axe_playwright_python  # noqa: F401
        import playwright  # noqa: F401
    except ImportError as error:
        return f"{error.name} is not installed; pip install '.[test]'"
    return None if EXECUTABLE else "no chromium on this machine; apt-get install chromium"


needs_browser = pytest.mark.skipif(reason_without_browser() is not None, reason=str(reason_without_browser()))


@contextlib.contextmanager
def running() -> Iterator[Any]:
    """A browser that is closed afterwards."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=EXECUTABLE, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def served(folder: Path, policy: str | None = None) -> Iterator[str]:
    """The address of a server on loopback that serves a folder, with a content policy if one is given."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given, directory=str(folder))

        def end_headers(self) -> None:
            if policy is not None:
                self.send_header("Content-Security-Policy", policy)
            super().end_headers()

        def log_message(self, *_: object) -> None:
            """Tests print nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
