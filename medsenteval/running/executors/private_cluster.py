"""Scheduler and workers of a Dask cluster of our own: no port for HTTP, and TLS with a throw-away certificate."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from logging import CRITICAL, getLogger
from typing import Any

import dask
from distributed import Nanny, Scheduler, Security, SpecCluster, Worker
from distributed.system import MEMORY_LIMIT


class QuietScheduler(Scheduler):  # type: ignore[misc]
    """A scheduler without the HTTP server that Dask starts even where no dashboard is asked for."""

    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """Start none."""


class QuietWorker(Worker):  # type: ignore[misc]
    """A worker without an HTTP server."""

    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """Start none."""


class PatientCluster(SpecCluster):  # type: ignore[misc]
    """A cluster that waits for a worker to come back for as long as that takes.

    Dask gives up one that is not back after 15 seconds, which a busy machine needs to start Python again; without workers a
    run would wait for ever.
    """

    def __init__(self, **options: Any) -> None:
        try:
            super().__init__(**options)
        except BaseException:  # an interrupt too
            self.end_workers()
            raise

    def end_workers(self) -> None:
        """Kill all workers, those that are just starting too, and keep Dask from saying what it makes of that."""
        self.shutdown_on_close = False
        # For good: broken connections are noticed also after the cluster's end, which would make Dask's handlers loud again.
        getLogger("distributed").setLevel(CRITICAL)
        if hasattr(self, "_loop_runner"):
            self.loop.asyncio_loop.set_exception_handler(lambda loop, context: None)
        for nanny in tuple(getattr(self, "_created", ())):
            nanny.auto_restart = False
            if nanny.pid is not None:
                with suppress(ProcessLookupError):  # it ended by itself
                    os.kill(nanny.pid, signal.SIGKILL)

    def _update_worker_status(self, op: str, msg: Any) -> None:
        with dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}):
            super()._update_worker_status(op, msg)


def private_cluster(workers: int, threads: int, folder: str) -> SpecCluster:
    """Start worker processes on this machine that nobody without this process's certificate can talk to.

    Whoever can talk to a scheduler or worker can run code in it; ports on this machine are open to all its users.
    """
    # Units bring their own errors home; what Dask logs below is the noise of connections that end.
    common = {"host": "127.0.0.1", "protocol": "tls://", "security": Security.temporary()}
    worker = {
        "nthreads": threads,
        "memory_limit": MEMORY_LIMIT // workers,
        "worker_class": QuietWorker,
        "silence_logs": CRITICAL,
    }
    return PatientCluster(
        scheduler={"cls": QuietScheduler, "options": {**common, "port": 0, "dashboard": False}},
        workers={
            number: {"cls": Nanny, "options": {**common, **worker, "local_directory": folder}} for number in range(workers)
        },
        security=common["security"],
        silence_logs=CRITICAL,
    )
