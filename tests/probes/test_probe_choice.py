"""Which probe the settings name, with which options, and which penalties it searches."""

from __future__ import annotations

from typing import Any

import pytest

from medsenteval.probes import WIDE_GRID, choose_backend, choose_penalties, describe_probe
from medsenteval.settings import Settings


@pytest.mark.parametrize(
    ("settings", "training", "described"),
    [
        ({}, {}, "exact(tol=0.0001)"),
        ({"tolerance": 0.25}, {}, "exact(tol=0.25)"),
        ({"probe": "sklearn"}, {"nhid": 3}, "sklearn"),
        ({"few_shot": "mteb", "shots": 4}, {}, "mteb(C=1,max_iter=100)"),
        ({"probe": "senteval"}, {}, "senteval(nhid=0,"),
        ({"probe": "mlp"}, {}, "mlp(nhid=50,"),
        ({"probe": "mlp", "training": {"nhid": 7}}, {}, "mlp(nhid=7,"),
        ({"probe": "mlp", "training": {"nhid": 7}}, {"nhid": 9, "noreg": True}, "mlp(nhid=9,"),
    ],
)
def test_a_probe_is_described_with_what_can_move_a_score(
    settings: dict[str, Any], training: dict[str, Any], described: str
) -> None:
    found = describe_probe(Settings(**settings), training, 100)
    assert found.startswith(described)
    assert found == described or described.endswith(",")


@pytest.mark.parametrize(("probe", "width"), [("senteval", 0), ("mlp", 50)])
def test_a_network_has_a_hidden_layer_of_50_where_none_is_named(probe: str, width: int) -> None:
    pytest.importorskip("torch")
    backend = choose_backend(Settings(probe=probe), {"tenacity": 3})
    assert backend.name == probe
    assert (backend.settings.nhid, backend.settings.tenacity) == (width, 3)  # type: ignore[attr-defined]


@pytest.mark.parametrize("probe", ["exact", "sklearn", "senteval", "mlp"])
def test_tasks_without_a_search_have_one_penalty_in_the_originals_probes(probe: str) -> None:
    one = {"exact": None, "sklearn": (1e9,), "senteval": (1e-9,), "mlp": (1e-9,)}
    assert choose_penalties(Settings(probe=probe), {"noreg": True}) == one[probe]
    assert choose_penalties(Settings(probe=probe), {}) is None


def test_the_wide_grid_reaches_a_thousand_times_in_both_directions() -> None:
    assert choose_penalties(Settings(grid="wide"), {"noreg": True}) == WIDE_GRID
    assert (len(WIDE_GRID), WIDE_GRID[0], WIDE_GRID[10], WIDE_GRID[-1]) == (21, 2**-10, 1, 2**10)
