"""Where the outer folds of nested cross-validation are fitted: on this process's cores, unless the engine says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

from medsenteval.probes.features import Features
from medsenteval.support.cores import available_cores

__all__ = ["Spread", "folds_go_to", "spread_folds"]

T = TypeVar("T")


class Spread(Protocol):
    """Calls ``unit(features, *call)`` for every call, on workers of its choice, and returns the results in order."""

    def __call__(self, unit: Callable[..., T], features: Features, calls: Sequence[tuple[Any, ...]]) -> list[T]: ...


_remote: ContextVar[Spread | None] = ContextVar("remote", default=None)


@contextmanager
def folds_go_to(spread: Spread) -> Iterator[None]:
    """Let ``spread`` fit the folds that this thread hands out inside the block, on its workers."""
    token = _remote.set(spread)
    try:
        yield
    finally:
        _remote.reset(token)


def spread_folds(unit: Callable[..., T], features: Features, calls: Sequence[tuple[Any, ...]], threads: bool) -> list[T]:
    """Fit folds apart; here with a thread for each core where ``threads`` says that the back end gains by them."""
    spread = _remote.get()
    if spread is not None:
        return spread(unit, features, calls)
    if not threads:
        return [unit(features, *call) for call in calls]
    with ThreadPoolExecutor(min(available_cores(), len(calls))) as pool:
        return list(pool.map(lambda call: unit(features, *call), calls))
