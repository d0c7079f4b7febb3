"""Rows as a pandas data frame, for those who have pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medsenteval.errors import MissingExtraError

__all__ = ["data_frame"]


def data_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return a data frame with a column for each key; pandas is imported only now."""
    try:
        from pandas import DataFrame
    except ImportError as error:
        raise MissingExtraError("a data frame", "pandas", "pandas") from error
    return DataFrame(list(rows))
