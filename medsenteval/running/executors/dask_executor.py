"""Workers of a Dask cluster: one that runs already, on whatever Dask's deployments start, or one on this machine."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from medsenteval.embedding.cache import cache_folder
from medsenteval.errors import ExecutorError, WorkerDiedError, import_extra
from medsenteval.running.executors.flow import Stopped, as_finished, result_of, submitted
from medsenteval.running.executors.processes import ArrayFolder, mapped_file
from medsenteval.running.executors.worker import ArrayFile, Outcome, guarded, sees
from medsenteval.support.cores import available_cores, limit_cores

T = TypeVar("T")

#: How often a unit is handed to Dask again after Dask gave it up: it blames all units of a worker that died.
ATTEMPTS: Final = 2
#: Seconds to wait for the scheduler's first answer.
_PATIENCE: Final = 20
#: Seconds to wait for a cluster's end after an interrupt.
_PATIENCE_AT_END: Final = 2
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
                self._future = self._client.scatter(self._array, hash=False)
            return self._future

    def forget(self) -> None:
        with self._lock:
            self._future = None


class _Batch:
    """Units that were handed out together: once one has failed, Dask need not try the others, which may kill workers too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: set[Any] = set()
        self.ended = False

    def begin(self, future: Any) -> None:
        with self._lock:
            self._under_way.add(future)
            if self.ended:
                future.cancel()

    def finish(self, future: Any) -> None:
        with self._lock:
            self._under_way.discard(future)

    def end(self) -> None:
        with self._lock:
            self.ended = True
            for future in self._under_way:
                future.cancel()


class DaskExecutor:
    """Units as Dask tasks. Dask moves the work of a worker that died to another, and gives up what keeps killing them."""

    def __init__(self, client: Any, cluster: Any = None, arrays: ArrayFolder | None = None) -> None:
        self._client, self._cluster = client, cluster
        self.workers = max(len(client.scheduler_info(n_workers=-1)["workers"]), 1 if cluster else _AT_FIRST)
        self.peak_memory_mb = 0.0
        self._closed = False
        self._waiting = ThreadPoolExecutor(2 * self.workers, thread_name_prefix="dask-unit")
        self._arrays = arrays
        self._shared_cache = cluster is not None or self._cache_is_shared()

    @classmethod
    def local(cls, workers: int) -> DaskExecutor:
        """Start a cluster of worker processes on this machine."""
        distributed = import_extra("distributed", "a Dask cluster", "dask")
        import_extra("cryptography", "a Dask cluster of our own", "dask")
        from medsenteval.running.executors.private_cluster import private_cluster

        arrays = ArrayFolder()
        try:
            cluster = private_cluster(workers, max(available_cores() // workers, 1), arrays.folder())
            return cls(distributed.Client(cluster), cluster, arrays)
        except (OSError, RuntimeError) as error:
            # Dask wraps what the machine refused it: a full disk, no memory, no free port.
            arrays.remove()
            raise ExecutorError(f"dask:{workers} could not be started: {error}; see to that and run again") from error
        except BaseException:
            arrays.remove()
            raise

    @classmethod
    def at(cls, address: str) -> DaskExecutor:
        """Reach the scheduler at HOST:PORT, or the one that a scheduler file (PATH.json) tells of.

        Both sides unpickle what the other sends: whoever runs the scheduler can run code here. An address tls://HOST:PORT
        takes certificates from Dask's own settings.
        """
        distributed = import_extra("distributed", "a Dask cluster", "dask")
        if address.endswith(".json") and not Path(address).is_file():
            # Dask would wait for the file for ever.
            raise ExecutorError(f"no Dask scheduler answers at {address}: there is no such scheduler file")
        where = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
        if where.get("address") and "://" not in address:
            where["address"] = f"tcp://{address}"
        try:
            return cls(distributed.Client(**where, timeout=_PATIENCE))
        except (OSError, ValueError) as error:
            raise ExecutorError(
                f"no Dask scheduler answers at {address}: {error}; start one with `dask scheduler` and workers with "
                "`dask worker HOST:PORT`, both where medsenteval is installed"
            ) from error

    def run(self, what: str, unit: Callable[..., T], *arguments: Any) -> T:
        started: Future[T] = submitted(self._waiting, self._run, what, unit, arguments, _Batch())
        return result_of(started)

    def run_all(self, unit: Callable[..., T], calls: Iterable[tuple[str, tuple[Any, ...]]]) -> Iterator[tuple[int, T]]:
        batch = _Batch()
        started = (submitted(self._waiting, self._run, what, unit, arguments, batch) for what, arguments in calls)
        try:
            yield from as_finished(started, 2 * self.workers)
        finally:
            batch.end()

    def share(self, array: NDArray[Any]) -> ArrayFile | _Scattered:
        if self._arrays is not None:
            return self._arrays.share(array)
        mapped = mapped_file(array)
        if mapped is not None and self._shared_cache and Path(mapped.path).is_relative_to(cache_folder()):
            return mapped
        return _Scattered(self._client, array)

    def release(self, shared: ArrayFile | _Scattered) -> None:
        if isinstance(shared, _Scattered):
            shared.forget()
        elif self._arrays is not None:
            self._arrays.release(shared)

    def close(self, at_once: bool = False) -> None:
        self._closed = True
        self._waiting.shutdown(wait=False, cancel_futures=True)
        if at_once and self._cluster is not None:
            self._cluster.end_workers()
        # Dask objects to an end of workers that it did not bring about.
        with suppress(AssertionError, TimeoutError) if at_once else nullcontext():
            self._client.close(timeout=_PATIENCE_AT_END if at_once else None)
            if self._cluster is not None:
                self._cluster.close(timeout=_PATIENCE_AT_END if at_once else None)
        self._waiting.shutdown(wait=not at_once)
        if self._arrays is not None:
            self._arrays.remove()

    def _run(self, what: str, unit: Callable[..., T], arguments: tuple[Any, ...], batch: _Batch) -> T:
        from distributed import KilledWorker

        for attempt in range(ATTEMPTS):
            if self._closed or batch.ended:
                raise Stopped
            sent = [each.future() if isinstance(each, _Scattered) else each for each in arguments]
            future = self._client.submit(_guarded_by_dask, unit, *sent, pure=False)
            batch.begin(future)
            try:
                outcome: Outcome = future.result()
            except KilledWorker as error:
                if attempt + 1 == ATTEMPTS:
                    raise WorkerDiedError(
                        f"{what}: every Dask worker that tried it died ({error}); the usual reason is that memory ran out: "
                        "give workers more of it, or use a smaller --batch-size"
                    ) from error
                continue
            except CancelledError as error:
                if self._closed or batch.ended:
                    raise Stopped from None
                # The worker that held a shared array is gone; the array is sent again.
                if attempt + 1 == ATTEMPTS:
                    raise WorkerDiedError(f"{what}: the Dask cluster lost it: {error or 'cancelled'}") from error
                continue
            finally:
                batch.finish(future)
                future.release()
            self.peak_memory_mb = max(self.peak_memory_mb, outcome.peak_memory_mb)
            result: T = outcome.result()
            return result
        raise AssertionError("unreachable")

    def _cache_is_shared(self) -> bool:
        """Try whether all workers see the coordinator's cache folder; if not, matrices are sent to them."""
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        probe, content = folder / f".shared-{secrets.token_hex(8)}", secrets.token_hex(16)
        probe.write_text(content, "ascii")
        try:
            answers = self._client.run(sees, str(probe), content)
        finally:
            probe.unlink()
        return bool(answers) and all(answers.values())


def _guarded_by_dask(unit: Callable[..., Any], *arguments: Any) -> Outcome:
    """Run a unit in a Dask worker, with as many cores as Dask gave the worker threads."""
    from distributed import get_worker

    limit_cores(get_worker().state.nthreads)
    return guarded(unit, *arguments)
