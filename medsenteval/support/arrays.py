"""Names for the arrays that functions pass to each other, by what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]
#: Scores, statistics and everything else that is computed in double precision.
Floats = NDArray[np.float64]
#: Class numbers.
Labels = NDArray[np.int64]
#: Single or double precision, as the caller has it.
Reals = NDArray[np.floating[Any]]
#: Row numbers, or offsets into rows.
Rows = NDArray[np.intp]
#: Embeddings.
Singles = NDArray[np.float32]
