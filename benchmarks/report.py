"""How large the report page of 20 encoders on 30 tasks is, and how long it takes to make and to open.

    python -m benchmarks.report            20 encoders on 30 tasks
    python -m benchmarks.report --small    3 encoders on 4 tasks, in seconds

A page is opened in Debian's Chromium without a window, a new profile each time; the time runs from the request to the first
frame painted after loading. Without Chromium or playwright only size and making are measured.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from medsenteval.report.page_content import Page, PageOptions
from medsenteval.report.page_html import render_page
from medsenteval.support.text_table import text_table
from tests.report.browser import find_chromium, launched, opened
from tests.report.made_up import many_results

#: Milliseconds from the start of navigation until the frame after the load event has been painted.
_PAINTED = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"""


def opening_times(path: Path, times: int) -> list[float]:
    """Return the seconds that each of several browsers took to load and paint a page."""
    seconds = []
    for _ in range(times):
        with launched() as browser, opened(browser, path) as page:
            seconds.append(float(page.evaluate(_PAINTED)) / 1000)
    return seconds


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Measure the report page.")
    parser.add_argument("--small", action="store_true", help="3 encoders on 4 tasks, a few seconds")
    options = parser.parse_args(arguments)
    n_encoders, n_tasks, resamples, times = (3, 4, 500, 1) if options.small else (20, 30, 10_000, 5)
    results = many_results(n_encoders, n_tasks)
    started = time.perf_counter()
    page = Page(results, options=PageOptions(resamples=resamples))
    compared = time.perf_counter()
    html = render_page(page)
    rendered = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        path.write_text(html, "utf-8")
        size = path.stat().st_size
        seconds = [] if find_chromium() is None else opening_times(path, times)
    opening = f"{min(seconds):.2f} to {max(seconds):.2f} s" if seconds else "no browser"
    header = ["Encoders", "Tasks", "Comparing", "Rendering", "Size", "Opening"]
    row = [str(n_encoders), str(n_tasks), f"{compared - started:.1f} s", f"{rendered - compared:.1f} s"]
    print(text_table(header, [[*row, f"{size / 1e6:.2f} MB", opening]], [True] * 6))


if __name__ == "__main__":
    main()
