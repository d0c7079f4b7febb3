"""Plans in words: times as people plan with them, and what nothing is known of."""

from __future__ import annotations

import pytest

from medsenteval.running.plan import Plan, PlannedJob, in_words


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0, "under 1 s"), (0.99, "under 1 s"), (1.0, "1 s"), (99.4, "99 s"), (100.0, "2 min"), (5_399.0, "90 min"),
     (5_400.0, "1.5 h"), (36_000.0, "10.0 h")],
)  # fmt: skip
def test_times_are_said_as_people_plan_with_them(seconds: float, said: str) -> None:
    assert in_words(seconds) == said


def job(state: str, seconds: float | None = None) -> PlannedJob:
    return PlannedJob("one", "RQE", 1, state, 9, 20, 7, seconds)


@pytest.mark.parametrize(
    ("jobs", "workers", "time"),
    [
        ([], 1, "under 1 s"),
        ([job("stored")], 1, "under 1 s"),
        ([job("to run")], 1, "unknown"),
        ([job("to run", 6.0)], 1, "6 s"),
        ([job("to run", 0.0)], 1, "under 1 s"),
        ([job("to run", 6.0), job("to run", 14.0)], 2, "10 s"),
        ([job("to run", 6.0), job("to run"), job("stored", 100.0)], 1, "6 s, and unknown for 1 job(s)"),
    ],
)
def test_the_time_of_a_plan(jobs: list[PlannedJob], workers: int, time: str) -> None:
    assert Plan(tuple(jobs), workers).time == time


def test_a_plan_in_a_line_and_as_a_table() -> None:
    plan = Plan((job("stored"), job("failed before"), job("to run", 6.0), job("to run")))
    summary = "4 job(s): 1 stored, 1 failed before, 2 to run"
    assert str(plan) == f"{summary}; 28 of 80 texts to encode; estimated time: 6 s, and unknown for 1 job(s)"
    # What is stored has no texts to encode.
    bare = (PlannedJob("one", "RQE", 1, "stored", 0), job("to run", 6.0))
    assert str(Plan(bare)).endswith("1 to run; 7 of 20 texts to encode; estimated time: 6 s")
    assert [line.split()[3] for line in Plan(bare).table().splitlines()[2:4]] == ["0", "9"]
    assert str(Plan((job("stored"),))) == "1 job(s): 1 stored, 0 failed before, 0 to run"
    assert plan.table({"RQE": "1.5"}).splitlines()[:6] == [
        "Encoder  Task  Seed  Items  Shows  State          Texts  To encode     Time",
        "-------  ----  ----  -----  -----  -------------  -----  ---------  -------",
        "one      RQE      1      9    1.5  stored",
        "one      RQE      1      9    1.5  failed before",
        "one      RQE      1      9    1.5  to run            20          7      6 s",
        "one      RQE      1      9    1.5  to run            20          7  unknown",
    ]
    assert "Shows" not in plan.table()
