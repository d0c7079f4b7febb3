"""Scores, differences and their intervals as tables and figures print them."""

from __future__ import annotations


def number(value: float, unit: str, *, signed: bool = False, digits: int = 2) -> str:
    """Return a number; ``digits`` are those of percentages, everything else gets one more."""
    return format(value, f"{'+' if signed else ''}.{digits if unit == 'percent' else digits + 1}f")


def interval(low: float, high: float, unit: str, *, signed: bool = False, digits: int = 2) -> str:
    """Return both ends of an interval in brackets."""
    return f"[{number(low, unit, signed=signed, digits=digits)}, {number(high, unit, signed=signed, digits=digits)}]"


def difference(value: float, low: float, high: float, unit: str, digits: int = 2) -> tuple[str, str]:
    """Return a difference and its interval, all with their signs."""
    return number(value, unit, signed=True, digits=digits), interval(low, high, unit, signed=True, digits=digits)
