"""Progress: a bar for those who look, lines for those who asked, nothing else; and what is logged, at which level."""

from __future__ import annotations

import logging
import sys
import threading
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import medsenteval
from medsenteval.support import progress
from medsenteval.support.progress import Progress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


class Lines(StringIO):
    """What is no terminal, and tells when something was written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def flush(self) -> None:
        if self.getvalue():
            self.written.set()


def work(show: bool | None) -> Progress:
    found = Progress(2, show)
    found.expect_texts(1_500)
    found.encoded(1_200)
    found.job_done()
    return found


@pytest.mark.parametrize("show", [True, None])
def test_a_bar_on_a_terminal(show: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    work(show).close()
    drawn = terminal.getvalue()
    assert "1 of 2 jobs, encoding:  80%" in drawn
    assert "1200/1500" in drawn


def test_a_bar_on_a_terminal_without_blocks_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    output = BytesIO()

    class Ascii(TextIOWrapper):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", terminal := Ascii(output, "ascii", errors="backslashreplace", write_through=True))
    work(None).close()
    assert b"80%|" in output.getvalue()
    assert b"\\u" not in output.getvalue()
    terminal.detach()


class Cell:
    """The output of a cell in a notebook, as IPython's ``display`` hands it out."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, content: dict[str, str], **how: bool) -> Cell:
        assert how == {"raw": True, "display_id": True}
        self.shown.append(content["text/plain"])
        return self

    def update(self, content: dict[str, str], raw: bool) -> None:
        assert raw
        self.shown.append(content["text/plain"])


@pytest.mark.parametrize(("kernel", "drawn"), [("IPKernelApp", True), ("TerminalIPythonApp", False)])
def test_a_bar_in_a_notebook_that_leaves_nothing_behind(kernel: str, drawn: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell()
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(config={kernel: {}}))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=cell.display))
    monkeypatch.setattr(sys, "stdout", output := StringIO())
    monkeypatch.setattr(sys, "stderr", errors := StringIO())
    work(None).close()
    assert output.getvalue() == errors.getvalue() == ""
    assert any(each.startswith("1 of 2 jobs, encoding:  80%|████") for each in cell.shown) == drawn
    assert cell.shown[-1:] == [""] * drawn
    assert (len(cell.shown) > 1) == drawn
    before = len(cell.shown)
    work(False).close()
    assert len(cell.shown) == before
    work(True).close()
    assert (len(cell.shown) > before) == drawn


def test_lines_without_a_terminal_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SECONDS", 0.01)
    monkeypatch.setattr(sys, "stderr", lines := Lines())
    shown = work(True)
    lines.written.clear()
    assert lines.written.wait(30)
    shown.close()
    assert lines.getvalue().splitlines()[-1].startswith("1 of 2 jobs done, 1,200 of 1,500 texts encoded, ")


@pytest.mark.parametrize("show", [None, False])
def test_silence_where_nobody_looks_or_asked(show: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SECONDS", 0.01)
    monkeypatch.setattr(sys, "stderr", errors := StringIO())
    before = threading.active_count()
    shown = work(show)
    assert threading.active_count() == before
    shown.close()
    assert errors.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", None)
    work(None).close()


def test_levels_of_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As users of SentEval and mteb know them: steps are INFO, details DEBUG, what is left out WARNING, what fails ERROR."""

    def encode(texts: Any) -> list[list[float]]:
        if any(text.endswith("?") for text in texts):
            raise RuntimeError("no questions, please")
        return [[len(text), 1.0] for text in texts]

    caplog.set_level(logging.DEBUG, logger="medsenteval")
    with pytest.raises(RuntimeError, match="no questions"):
        medsenteval.evaluate(encode, tasks="BIOSSES,RQE,UMLS", name="shy", output=tmp_path, resamples=100)
    seen = {(record.levelname, record.getMessage().split(" in ")[0]) for record in caplog.records}
    assert ("DEBUG", "BIOSSES: shy encodes 196 texts") in seen
    assert ("INFO", "BIOSSES: shy: done") in seen
    assert ("ERROR", "RQE: shy: failed: RuntimeError: no questions, please") in seen
    assert any(level == "WARNING" and message.startswith("UMLS: skipped: ") for level, message in seen)
    assert all(record.name.startswith("medsenteval.") for record in caplog.records)


def test_the_thread_that_writes_lines_keeps_no_process_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Lines())
    before = set(threading.enumerate())
    found = Progress(1, True)
    (thread,) = (each for each in set(threading.enumerate()) - before if each.name == "progress")
    assert thread.daemon is True
    found.close()
    thread.join(20)
    assert not thread.is_alive()
    monkeypatch.setattr(sys, "stderr", Terminal())
    Progress(1, True).close()
    assert not [each for each in set(threading.enumerate()) - before if each.name == "progress"], "a terminal has its bar"
