"""Do intrinsic scores predict extrinsic ones? Correlations over encoders between two lists of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medsenteval.comparison.score_columns import Columns
from medsenteval.errors import DataError
from medsenteval.statistics import Association, Correlation, associate


@dataclass(frozen=True, eq=False)
class Cell:
    """The correlation of two columns over the encoders that have both, in the order of ``association.leave_one_out``."""

    first: str
    second: str
    encoders: tuple[str, ...]
    association: Association

    @property
    def most_influential(self) -> str:
        return self.encoders[self.association.most_influential]

    @property
    def without_most_influential(self) -> float:
        return float(self.association.leave_one_out[self.association.most_influential])


def correlate_columns(
    columns: Columns, first: Sequence[str], second: Sequence[str], kind: Correlation = "pearson", *, confidence: float = 0.95
) -> list[Cell]:
    """Correlate every column of the first list with every one of the second."""
    cells = []
    for one in first:
        for other in second:
            left, right = columns.column(one), columns.column(other)
            if left is right:
                continue
            encoders = tuple(encoder for encoder in left if encoder in right)
            if len(encoders) < 3:
                listed = ", ".join(encoders) or "none"
                raise DataError(
                    f"{one} and {other} have {len(encoders)} encoder(s) in common ({listed}); at least 3 are needed"
                )
            found = associate([left[e] for e in encoders], [right[e] for e in encoders], kind, confidence=confidence)
            cells.append(Cell(one, other, encoders, found))
    return cells
