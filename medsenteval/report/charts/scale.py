"""Round numbers along an axis, and where a value lies on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """A straight axis from ``low`` at pixel ``start`` to ``high`` at pixel ``end``, with marks at round numbers."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    digits: int

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def label(self, tick: float) -> str:
        return f"{tick:.{self.digits}f}".replace("-", "−")


def axis_over(values: Sequence[float], start: float, end: float, *, about: int = 5) -> Axis:
    """Return an axis that holds all finite values, its ends at round numbers, with about so many marks."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(number * step for number in range(first, last + 1))
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    if abs(step * 10**digits - round(step * 10**digits)) > 1e-6:
        digits += 1
    return Axis(first * step, last * step, start, end, ticks, digits)
