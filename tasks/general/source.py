"""What all of SentEval's tasks have in common: where they come from."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["SENTEVAL_DATA", "downstream"]

#: How to get any of SentEval's data sets.
SENTEVAL_DATA: Final = (
    "run data/downstream/get_transfer_data.bash of the GitHub repository facebookresearch/SentEval and name its folder "
    "`data` with --data"
)


def downstream(*folders: str) -> dict[str, Any]:
    """Return the fields of a Task that lies below SentEval's ``downstream`` folder; its terms differ from set to set."""
    return {
        "version": "1",
        "folders": tuple(f"downstream/{folder}" for folder in folders),
        "licence": "not stated by SentEval; see the data set's own terms",
        "access": "open",
        "obtain": SENTEVAL_DATA,
    }
