"""Progress of everything that a run does, wherever it does it: a bar where someone looks, plain lines where none does."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Final

#: Seconds between two lines where there is no terminal.
_SECONDS: Final = 5.0


class Progress:
    """Counts finished jobs and encoded texts, from any thread.

    ``show=None`` draws a bar on a terminal and in a notebook and is silent elsewhere; True writes plain lines to standard error
    elsewhere, one every few seconds; False is silent everywhere.
    """

    def __init__(self, n_jobs: int = 1, show: bool | None = False) -> None:
        from tqdm import tqdm

        self._lock = threading.Lock()
        self._n_jobs, self._done = n_jobs, 0
        self.n_texts, self.n_encoded = 0, 0
        self._since = time.monotonic()
        self._closed = threading.Event()
        notebook = show is not False and _in_notebook()
        looked_at = notebook or (show is not False and sys.stderr is not None and sys.stderr.isatty())
        file = _Cell() if notebook else None
        self._bar: Any = tqdm(total=0, unit=" texts", leave=False, disable=not looked_at, file=file)
        self._describe()
        if show and not looked_at:
            threading.Thread(target=self._write_lines, name="progress", daemon=True).start()

    def __str__(self) -> str:
        encoded = f", {self.n_encoded:,} of {self.n_texts:,} texts encoded" if self.n_texts else ""
        return f"{self._done} of {self._n_jobs} jobs done{encoded}, {time.monotonic() - self._since:.0f} s"

    def expect_texts(self, count: int) -> None:
        """Announce texts that will be encoded."""
        with self._lock:
            self.n_texts += count
            self._bar.total = self.n_texts
            self._bar.refresh()

    def encoded(self, count: int) -> None:
        with self._lock:
            self.n_encoded += count
            self._bar.update(count)

    def job_done(self) -> None:
        with self._lock:
            self._done += 1
            self._describe()

    def write(self, show: Any, message: str) -> None:
        """Show a message without tearing the line of progress."""
        with self._lock:
            self._bar.clear()
            show(message)
            self._bar.refresh()

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            self._bar.close()

    def _describe(self) -> None:
        self._bar.set_description_str(f"{self._done} of {self._n_jobs} jobs, encoding")

    def _write_lines(self) -> None:
        while not self._closed.wait(_SECONDS):
            self.write(lambda line: print(line, file=sys.stderr, flush=True), str(self))


class _Cell:
    """A notebook's output, to which a bar is written; empty in the end: what is saved with a notebook is its results."""

    #: By this tqdm knows that a bar may be drawn with blocks; of a terminal it asks which letters that has.
    encoding: Final = "utf-8"

    def __init__(self) -> None:
        from IPython.display import display

        self._shown = display({"text/plain": ""}, raw=True, display_id=True)

    def write(self, text: str) -> None:
        self._shown.update({"text/plain": text.strip("\r ")}, raw=True)

    def flush(self) -> None:
        """Each text is shown as it is written."""


def _in_notebook() -> bool:
    """Return whether a Jupyter kernel runs this process; IPython on a terminal is a terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in shell.config
