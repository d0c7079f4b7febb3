"""Ranks within many resamples of the same items, without sorting each.

Items are sorted once. How many of the items of a resample lie before a given one is a cumulative sum of the counts in that
order, and that is its rank. Counts of four resamples share one 64-bit word, so that one addition serves four.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.support.arrays import Floats


@dataclass(frozen=True, eq=False)
class Order:
    """Items sorted by a value: their order, the last place of each run of equal values, and each item's run."""

    order: NDArray[np.intp]
    last: NDArray[np.intp] | None
    run_of_item: NDArray[np.intp]

    @classmethod
    def of(cls, values: Floats) -> Order:
        order = np.argsort(values, kind="stable")
        ascending = values[order]
        ends = np.append(ascending[1:] != ascending[:-1], True)
        run_of_item = np.empty(len(values), dtype=np.intp)
        run_of_item[order] = np.cumsum(ends) - ends
        return cls(order, None if ends.all() else np.flatnonzero(ends), run_of_item)

    def middles(self, weights: NDArray[Any], space: Workspace) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return for each item the weight before plus the weight up to its run, and the weight of each run of ties.

        The first is twice the item's mid-rank less one. The second is None where no two items are equal.
        """
        kind = weights.dtype
        # Clipping spares a copy that take would make to check every index.
        upto = np.take(weights, self.order, axis=1, mode="clip", out=space.array("upto", weights.shape, kind))
        np.cumsum(upto, axis=1, out=upto)
        sizes = None
        if self.last is not None:
            runs = (len(weights), len(self.last))
            upto = np.take(upto, self.last, axis=1, mode="clip", out=space.array("runs", runs, kind))
            sizes = space.copy("sizes", upto)
            sizes[:, 1:] -= upto[:, :-1]
        middle = space.copy("middle", upto)
        middle[:, 1:] += upto[:, :-1]
        back = space.array("back", weights.shape, kind)
        return np.take(middle, self.run_of_item, axis=1, mode="clip", out=back), sizes


class Workspace:
    """Arrays that are used again from block to block: fresh ones would cost more in page faults than the sums in them."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def array(self, name: str, shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
        found = self._arrays.get(name)
        if found is None or found.shape != shape or found.dtype != kind:
            found = self._arrays[name] = np.empty(shape, dtype=kind)
        return found

    def copy(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        copied = self.array(name, values.shape, values.dtype)
        np.copyto(copied, values)
        return copied


#: Resamples that share one 64-bit word in which each has 16 bits, and the largest total whose double fits into them.
LANES: Final = 4
LARGEST_PACKED_TOTAL: Final = (1 << 15) - 1


def pack(weights: Floats) -> NDArray[np.uint64]:
    """Lay the counts of four resamples side by side in one word, so that sums of four cost one addition."""
    rows, n = weights.shape
    lanes = np.zeros((-(-rows // LANES) * LANES, n), dtype=np.uint16)
    lanes[:rows] = weights
    beside = np.ascontiguousarray(lanes.reshape(-1, LANES, n).transpose(0, 2, 1))
    return beside.view(np.uint64)[:, :, 0]


def unpack(words: NDArray[Any], out: Floats) -> Floats:
    """Write what each resample has in its lane into a row each."""
    n = words.shape[1]
    lanes = words.view(np.uint16).reshape(-1, n, LANES).transpose(0, 2, 1)
    np.copyto(out.reshape(-1, LANES, n), lanes)
    return out


_SPACES: Final = threading.local()


def workspace() -> Workspace:
    """Return this thread's own arrays."""
    found: Workspace | None = getattr(_SPACES, "space", None)
    if found is None:
        found = _SPACES.space = Workspace()
    return found
