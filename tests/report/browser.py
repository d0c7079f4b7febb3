"""A real browser for the report page: any Chromium of this machine, driven by playwright."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.installing import found_or_installed, from_package_manager

__all__ = ["find_axe", "find_chromium", "install_chromium", "launched", "opened"]


_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")


def find_chromium() -> str | None:
    """Return the path of a Chromium that can be driven, or None; MEDSENTEVAL_CHROMIUM names another than those found."""
    if find_spec("playwright") is None:
        return None
    named = (os.environ.get("MEDSENTEVAL_CHROMIUM"), *map(shutil.which, _NAMES))
    return next((path for path in named if path), None) or _playwrights_own()


def _playwrights_own() -> str | None:
    """Return the browser that ``playwright install chromium`` put down, if there is one."""
    # In a process of its own: playwright's driver does not start where an event loop runs already.
    program = (
        "from playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as driver: print(driver.chromium.executable_path)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    path = answer.stdout.strip()
    return path if path and os.path.isfile(path) else None


def install_chromium() -> str | None:
    """Return a Chromium, installed by playwright or by the system's package manager where there is none yet."""
    if find_spec("playwright") is None:
        return None
    own = [sys.executable, "-m", "playwright", "install", "chromium"]
    return found_or_installed(find_chromium, [own, *from_package_manager(["chromium"], ["chromium"])])


def find_axe() -> Path:
    """Return axe-core's script, which the package axe-playwright-python carries."""
    import axe_playwright_python

    return Path(axe_playwright_python.__file__).parent / "axe.min.js"


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
