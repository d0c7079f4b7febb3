"""One line of progress for everything that a run does, wherever it does it."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["Progress"]


class Progress:
    """Counts finished jobs, encoded texts and fits, from any thread, and shows them on one line of a terminal."""

    def __init__(self, n_jobs: int = 1, show: bool = False) -> None:
        from tqdm import tqdm

        self._lock = threading.Lock()
        self._n_jobs, self._done, self._fits = n_jobs, 0, 0
        # disable=None means: silent unless standard error is a terminal.
        self._bar: Any = tqdm(total=0, unit=" texts", leave=False, disable=None if show else True)
        self._describe()

    def expect_texts(self, count: int) -> None:
        """Announce texts that will be encoded."""
        with self._lock:
            self._bar.total = (self._bar.total or 0) + count
            self._bar.refresh()

    def encoded(self, count: int) -> None:
        with self._lock:
            self._bar.update(count)

    def fitted(self, count: int = 1) -> None:
        with self._lock:
            self._fits += count
            self._describe()

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
        with self._lock:
            self._bar.close()

    def _describe(self) -> None:
        fits = f", {self._fits} fits" if self._fits else ""
        self._bar.set_description_str(f"{self._done} of {self._n_jobs} jobs{fits}, encoding")
