"""A real browser for the report page: Debian's Chromium, driven by playwright, where both are installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["find_axe", "find_chromium", "launched", "opened"]


def find_chromium() -> str | None:
    """Return the path of a Chromium that can be driven, or None; MEDSENTEVAL_CHROMIUM names another than the system's."""
    if find_spec("playwright") is None:
        return None
    return os.environ.get("MEDSENTEVAL_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def find_axe() -> Path | None:
    """Return axe-core's script: where MEDSENTEVAL_AXE says, or unpacked from `npm pack axe-core` in the user's cache."""
    places = [os.environ.get("MEDSENTEVAL_AXE"), Path.home() / ".cache" / "medsenteval-tests" / "package" / "axe.min.js"]
    return next((Path(place) for place in places if place and Path(place).is_file()), None)


@contextmanager
def launched() -> Iterator[Any]:
    """Start a browser with a new profile; only one at a time, as playwright wants it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Any, path: Path, **context: Any) -> Iterator[Any]:
    """Open a page; what it requests and complains about is in ``page.requests`` and ``page.complaints``."""
    window = browser.new_context(**context)
    page = window.new_page()
    page.requests, page.complaints = [], []
    page.on("request", lambda request: page.requests.append(request.url))
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    try:
        page.goto(path.as_uri())
        yield page
    finally:
        window.close()
