"""The benchmark of the page runs and prints what it measures."""

from __future__ import annotations

import re

import pytest

from benchmarks.report import main
from tests.report.browser import find_chromium


@pytest.mark.slow
def test_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--small"])
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["Encoders", "Tasks", "Comparing", "Rendering", "Size", "Opening"]
    size = re.search(r"([\d.]+) MB", printed[-1])
    assert size is not None
    assert 0.03 < float(size[1]) < 1
    assert ("no browser" in printed[-1]) == (find_chromium() is None)
