"""Which classes an encoder's probe takes for which."""

from __future__ import annotations

from typing import Final

import numpy as np

from medsenteval.contracts import Result

#: With more classes than this nobody reads a matrix.
MOST_CLASSES: Final = 30


def confusion_matrix(result: Result) -> list[list[int]] | None:
    """Count items by gold class (rows) and predicted class (columns); None where a task has no or too many classes."""
    n = len(result.label_names)
    if not 2 <= n <= MOST_CLASSES or not {"gold", "predicted"} <= result.items.keys():
        return None
    counts = np.zeros((n, n), dtype=np.int64)
    np.add.at(counts, (np.asarray(result.items["gold"]), np.asarray(result.items["predicted"])), 1)
    return [[int(count) for count in row] for row in counts]
