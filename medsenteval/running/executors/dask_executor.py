"""Workers of a Dask cluster that runs already, on whatever Dask's deployments start."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import ExecutorError, WorkerDiedError, import_extra
from medsenteval.running.executors.executor import Executor, Outcome, Stopped
from medsenteval.running.executors.worker import guarded
from medsenteval.support.cores import limit_cores

#: Seconds to wait for the scheduler's first answer, and for the end of the connection.
_PATIENCE: Final = 20
_PATIENCE_AT_END: Final = 2
#: Seconds after which a unit notices at the latest that nobody waits for it any more.
_SECONDS_BETWEEN_LOOKS: Final = 0.5
#: How often an array is sent before it is given up, and seconds in between, in which another worker may come.
_SENDINGS: Final = 20
_SECONDS_UNTIL_THE_NEXT: Final = 1.0
#: Units under way while a cluster that grows with its work has no workers yet.
_AT_FIRST: Final = 4


class _Scattered:
    """An array that lives in the memory of the cluster, and is sent again when the worker that held it died."""

    def __init__(self, client: Any, array: NDArray[Any]) -> None:
        self._client, self._array = client, np.ascontiguousarray(array)
        self._lock = threading.Lock()
        self._future: Any = None

    def future(self) -> Any:
        with self._lock:
            if self._future is None or self._future.status in ("lost", "cancelled", "error"):
                self._future = self._sent()
            return self._future

    def _sent(self) -> Any:
        from distributed.comm import CommClosedError

        for _ in range(_SENDINGS):
            # The worker that was to hold it may die on the way, through no fault of the array.
            with suppress(CommClosedError):
                return self._client.scatter(self._array, hash=False)
            time.sleep(_SECONDS_UNTIL_THE_NEXT)
        return self._client.scatter(self._array, hash=False)


class DaskExecutor(Executor):
    """Units as Dask tasks. Dask moves the work of a worker that died to another, and gives up what keeps killing them.

    ``address`` is the scheduler's HOST:PORT, or a scheduler file (PATH.json) that tells of it. Both sides unpickle what the
    other sends: whoever runs the scheduler can run code here. An address tls://HOST:PORT takes certificates from Dask's own
    settings.
    """

    def __init__(self, address: str) -> None:
        distributed = import_extra("distributed", "a Dask cluster", "dask")
        if address.endswith(".json") and not Path(address).is_file():
            # Dask would wait for the file for ever.
            raise ExecutorError(f"no Dask scheduler answers at {address}: there is no such scheduler file")
        full = address if "://" in address else f"tcp://{address}"
        where = {"scheduler_file": address} if address.endswith(".json") else {"address": full}
        try:
            self._client = distributed.Client(**where, timeout=_PATIENCE)
        except (OSError, ValueError) as error:
            raise ExecutorError(
                f"no Dask scheduler answers at {address}: {error}; start one with `dask scheduler` and workers with "
                "`dask worker HOST:PORT`, both where medsenteval is installed"
            ) from error
        workers = max(len(self._client.scheduler_info(n_workers=-1)["workers"]), _AT_FIRST)
        super().__init__(workers, at_once=2 * workers)

    @contextmanager
    def shared(self, array: NDArray[Any]) -> Iterator[_Scattered]:
        yield _Scattered(self._client, array)

    def close(self, at_once: bool = False) -> None:
        from distributed import TimeoutError as NoAnswer

        self.closed = True
        with suppress(NoAnswer):
            self._client.close(timeout=_PATIENCE_AT_END)
        self._waiting.shutdown(wait=not at_once)

    def _outcome(self, unit: Callable[..., Any], arguments: tuple[Any, ...], ended: threading.Event) -> Outcome:
        from distributed import CancelledError

        for _ in range(_SENDINGS):
            # The worker that holds a shared array may die, through no fault of this unit; the array is sent again.
            with suppress(CancelledError):
                return self._tried(unit, arguments, ended)
            if ended.wait(_SECONDS_UNTIL_THE_NEXT):
                raise Stopped
        raise WorkerDiedError("Dask workers died again and again with the arrays that it needs")

    def _tried(self, unit: Callable[..., Any], arguments: tuple[Any, ...], ended: threading.Event) -> Outcome:
        from distributed import KilledWorker
        from distributed.comm import CommClosedError

        future: Any = None
        done = threading.Event()
        try:
            sent = [each.future() if isinstance(each, _Scattered) else each for each in arguments]
            future = self._client.submit(_guarded_by_dask, unit, *sent, pure=False)
            future.add_done_callback(lambda _: done.set())
            while not (done.wait(_SECONDS_BETWEEN_LOOKS) or self.closed or ended.is_set()):
                pass
            # A client that closes would never answer what is asked of its futures.
            if self.closed:
                raise Stopped
            if not done.is_set():
                future.cancel()  # Dask need not try it any more: it may kill workers too
                raise Stopped
            found: Outcome = future.result()
            return found
        except Exception as error:
            if self.closed or ended.is_set():
                raise Stopped from None
            # A connection that is closed was tried long enough where arrays are sent.
            if isinstance(error, (KilledWorker, CommClosedError)):
                raise WorkerDiedError(f"every Dask worker that tried it died ({error})") from error
            raise
        finally:
            if future is not None:
                future.release()


def _guarded_by_dask(unit: Callable[..., Any], *arguments: Any) -> Outcome:
    """Run a unit in a Dask worker, with as many cores as Dask gave the worker threads."""
    from distributed import get_worker

    limit_cores(get_worker().state.nthreads)
    return guarded(unit, *arguments)
