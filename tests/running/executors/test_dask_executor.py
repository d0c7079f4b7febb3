"""What becomes of units on a Dask cluster whose workers die, told by a client of our own."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from medsenteval.errors import WorkerDiedError
from medsenteval.running.executors import dask_executor
from medsenteval.running.executors.dask_executor import DaskExecutor
from medsenteval.running.executors.executor import Outcome

distributed = pytest.importorskip("distributed")


class Answered:
    """A future that is done: it has a result, or raises."""

    def __init__(self, answer: Outcome | Exception) -> None:
        self._answer = answer

    def add_done_callback(self, tell: Callable[[Any], None]) -> None:
        tell(self)

    def result(self) -> Outcome:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def release(self) -> None:
        """Nothing is held."""


class Client:
    """Stands for Dask's: answers what it was given, one after the other, and counts."""

    def __init__(self, *answers: Outcome | Exception) -> None:
        self.answers, self.asked = list(answers), 0

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        return {"workers": {}}

    def submit(self, *_: Any, pure: bool) -> Answered:
        self.asked += 1
        return Answered(self.answers.pop(0))

    def close(self, timeout: float) -> None:
        """Nothing is open."""


def executor_of(client: Client, monkeypatch: pytest.MonkeyPatch) -> DaskExecutor:
    monkeypatch.setattr(distributed, "Client", lambda **_: client)
    monkeypatch.setattr(dask_executor, "_SECONDS_UNTIL_THE_NEXT", 0.0)
    return DaskExecutor("127.0.0.1:1")


def test_a_unit_whose_arrays_die_with_their_workers_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = [distributed.CancelledError("lost") for _ in range(10)]
    client = Client(*lost, Outcome(1.0, 7))
    with executor_of(client, monkeypatch) as executor:
        assert executor.run("scoring", len, ()) == 7
    assert client.asked == 11


def test_a_unit_that_never_gets_its_arrays_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(*(distributed.CancelledError("lost") for _ in range(100)))
    message = "^scoring: Dask workers died again and again with the arrays that it needs, 3 times; the usual reason"
    with executor_of(client, monkeypatch) as executor, pytest.raises(WorkerDiedError, match=message):
        executor.run("scoring", len, ())
    assert client.asked == 60


KILLED = distributed.scheduler.KilledWorker("unit", SimpleNamespace(address="tcp://127.0.0.1:2"), 3)


@pytest.mark.parametrize("failure", [KILLED, distributed.comm.CommClosedError("gone")], ids=["killed", "no connection"])
def test_a_unit_that_takes_workers_with_it_is_tried_three_times(failure: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(failure, failure, failure, Outcome(1.0))
    message = "scoring: every Dask worker that tried it died"
    with executor_of(client, monkeypatch) as executor, pytest.raises(WorkerDiedError, match=message):
        executor.run("scoring", len, ())
    assert client.asked == 3
