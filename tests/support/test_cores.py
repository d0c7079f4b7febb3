"""Work is shared out whole and in order, on one library thread each."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from medsenteval.support import cores
from medsenteval.support.cores import in_parts


@pytest.mark.parametrize("n_rows", [1, 3, 4, 11, 999, 1_000, 2_003])
def test_parts_cover_all_rows_in_order(n_rows: int) -> None:
    covered = [row for part in in_parts(n_rows, lambda span: range(span.start, span.stop)) for row in part]
    assert covered == list(range(n_rows))


@pytest.mark.parametrize("n_rows", [8, 2_000])
def test_products_within_parts_have_one_thread(n_rows: int) -> None:
    np.ones((2, 2)) @ np.ones((2, 2))  # so that there is a library to look at

    def most_threads(span: slice) -> int:
        # OpenMP counts its threads for each of ours, so only BLAS can be asked from here.
        return max(int(library["num_threads"]) for library in threadpool_info() if library["user_api"] == "blas")

    assert set(in_parts(n_rows, most_threads)) == {1}


def test_cores_can_be_limited_to_one_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "_limit", None)
    own = cores.available_cores()
    for limit, left in ((own + 1, own), (1, 1), (0, 1)):
        cores.limit_cores(limit)
        assert cores.available_cores() == left
