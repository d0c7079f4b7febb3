"""Work is shared out whole and in order, on one library thread each, and nobody waits for those who do not wake."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from medsenteval.support.cores import ThreadPool, added, in_parts


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


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("n_items", [0, 1, 3, 40])
def test_a_pool_returns_all_results_in_order(threads: int, n_items: int) -> None:
    with ThreadPool(threads) as pool:
        assert pool.map(lambda item: item**2, range(n_items)) == [item**2 for item in range(n_items)]


def test_who_asks_a_pool_works_along() -> None:
    """Two items that wait for each other are done by two threads, of which one is the caller's."""
    both = threading.Barrier(2, timeout=30)

    def meet(_: int) -> int:
        both.wait()
        return threading.get_ident()

    with ThreadPool(2) as pool:
        found = pool.map(meet, range(2))
    assert threading.get_ident() in found
    assert len(set(found)) == 2


def test_nobody_waits_for_helpers_that_have_not_started() -> None:
    """The only helper is busy until the caller has done everything."""
    done = threading.Event()
    with ThreadPool(2) as pool:
        assert pool._helpers is not None
        busy = pool._helpers.submit(done.wait, 30)
        assert pool.map(str, range(5)) == list("01234")
        done.set()
        assert busy.result()


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_ends_the_pools_work_and_is_raised(threads: int) -> None:
    seen = []

    def fail(item: int) -> None:
        seen.append(item)
        if item >= 2:
            raise IndexError(f"item {item}")

    with ThreadPool(threads) as pool, pytest.raises(IndexError, match="item"):
        pool.map(fail, range(10_000))
    assert len(seen) < 10_000


def test_sums_are_taken_in_order() -> None:
    pieces = [np.array([value], dtype=np.float32) for value in (1e8, 1, -1e8)]
    assert added(pieces) == 0
    assert added(pieces[::2] + pieces[1:2]) == 1
