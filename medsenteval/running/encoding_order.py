"""The order in which jobs that run side by side encode."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from medsenteval.contracts import Encoder


class EncodingOrder:
    """Lets jobs of one encoder that run side by side encode in the order of the run.

    A text that two tasks share is then encoded in the batch of the first, as in one process, and has the same last bits.
    """

    def __init__(self, encoders: Sequence[Encoder], numbers: Sequence[int]) -> None:
        self._encoder_of = list(map(id, encoders))
        self._left = list(numbers)
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, number: int) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: self._is_next(number))
        yield
        self.done(number)

    def done(self, number: int) -> None:
        """Let the next job encode; called for every job, whether it encoded or not."""
        with self._changed:
            if number in self._left:
                self._left.remove(number)
                self._changed.notify_all()

    def _is_next(self, number: int) -> bool:
        same = [each for each in self._left if self._encoder_of[each] == self._encoder_of[number]]
        return not same or same[0] == number or number not in same
