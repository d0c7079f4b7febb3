"""Audits and frontiers in words: what is counted, marked and said, from outcomes that are known."""

from __future__ import annotations

import pytest

from medsenteval.comparison.audit import Audit, Conclusion
from medsenteval.comparison.frontier import Frontier, FrontierPoint, _beats
from medsenteval.report.answer_tables import render_audit, render_frontier
from medsenteval.report.comparison_table import _p
from medsenteval.report.page_html import _p as p_on_a_page

LED = (
    Conclusion("RQE", "acc", "percent", "two", "one", 5.25, {"centred": "holds", "other seed": ""}, {"centred": 5.0}),
    Conclusion("BIOSSES", "pearson", "fraction", "two", "one", 0.125, {"centred": "gone"}, {"centred": -0.25}),
    Conclusion(
        "MR", "acc", "percent", "one", "two", 2.0, {"centred": "open", "whitened": "gone"}, {"centred": 1, "whitened": 0}
    ),
)
AUDIT = Audit({"one": (8, 0.126), "two": (16, 0.5)}, LED, ("MR, one: no vectors",), 8)


def test_an_audit_counts_what_holds_is_open_and_is_gone() -> None:
    assert render_audit(AUDIT).splitlines() == [
        "Encoder  Size  First direction  Leads  Hold  Open  Gone  Gone under",
        "-------  ----  ---------------  -----  ----  ----  ----  ----------",
        "two        16           50.0 %      2     1     0     1  centred",
        "one         8           12.6 %      1     0     0     1  whitened",
        "",
        "1 of 3 significant leads hold under every check, 0 are open under some, 2 are gone under one or more.",
        "First direction: share of the vectors' variance. Projected: to 8 principal components.",
        "",
        "Task             Conclusion    Lead   Centred  Whitened",
        "---------------  ----------  ------  --------  --------",
        "BIOSSES pearson  two > one   +0.125  - -0.250",
        "MR acc           one > two    +2.00   o +1.00   - +0.00",
        "",
        "+ still significant    o no longer, but a lead as large is within its interval    - gone: the interval excludes it",
        "",
        "Not audited: MR, one: no vectors.",
    ]


def point(size: int, low: float, high: float, kept: bool = True) -> FrontierPoint:
    return FrontierPoint(size // 4, "float32", size, 50.0 - low, (low + high) / 2, low, high, kept)


@pytest.mark.parametrize(
    ("unit", "points", "sure"),
    [
        ("percent", [point(64, 0, 0), point(32, -0.5, 0.99)], "8 dimensions in float32, 32 of 64 bytes"),
        ("percent", [point(64, 0, 0), point(32, -0.5, 1.0)], "none but the full ones"),
        ("percent", [point(64, 0, 0), point(32, -1, 0.9, False)], "8 dimensions in float32, 32 of 64 bytes"),
        ("percent", [point(64, 0, 0), point(32, 0, 0.5), point(32, 0, 0.1)], "8 dimensions in float32, 32 of 64 bytes"),
        ("fraction", [point(64, 0, 0), point(32, 0.0, 0.0099)], "8 dimensions in float32, 32 of 64 bytes"),
        ("fraction", [point(64, 0, 0), point(32, 0.0, 0.01)], "none but the full ones"),
    ],
)
def test_how_small_vectors_may_be(unit: str, points: list[FrontierPoint], sure: str) -> None:
    said = render_frontier(Frontier("RQE", "one", "acc", unit, 1200, tuple(points)))
    assert said.startswith("RQE, one (1,200 items)\n")
    margin = "1" if unit == "percent" else "0.01"
    assert said.endswith(f"surely lose less than {margin}: {sure}.\n* no smaller vectors score as well.")


def test_vectors_are_beaten_by_those_that_are_no_larger_and_no_worse() -> None:
    small, large = point(32, 0, 0), point(64, 0, 0)
    assert (_beats(small, large), _beats(large, small), _beats(small, small)) == (True, False, False)
    better = FrontierPoint(8, "int8", 32, 51.0, 0, 0, 0)
    assert (_beats(better, small), _beats(small, better), _beats(better, large), _beats(large, better)) == (True, False) * 2


@pytest.mark.parametrize(
    ("p", "in_a_table", "on_a_page"),
    [(0.00009, "<.0001", "< .0001"), (0.0001, ".0001", "= 0.0001"), (0.05, ".0500", "= 0.0500"), (0.99, ".9900", "= 0.9900"),
     (1.0, "1", "= 1.0000")],
)  # fmt: skip
def test_p_values_as_papers_print_them(p: float, in_a_table: str, on_a_page: str) -> None:
    assert (_p(p), p_on_a_page(p)) == (in_a_table, on_a_page)
