"""The domain gap: shares of the way to a perfect score, beside their counterparts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from medsenteval import registry
from medsenteval.cli.main import main
from medsenteval.comparison.domain_gap import COUNTERPARTS, domain_gaps, paired_gaps, share_of_way
from medsenteval.contracts import CUT_NOTE, LITTLE_KNOWN_NOTE, Metric, Result
from medsenteval.errors import SettingsError
from medsenteval.report.answer_tables import render_gaps
from medsenteval.running.result_store import ResultStore
from tests.comparison.simulated import simulated_result


def accuracy(task: str, encoder: str, value: float, baseline: float, half: float = 2.0, **changes: Any) -> Result:
    metric = Metric("acc", value, value - half, value + half, baseline, "percent", 100)
    return simulated_result(task, encoder, [metric], {"id": ["1"]}, **changes)


def test_every_counterpart_is_a_task_of_the_same_kind() -> None:
    for biomedical, general in COUNTERPARTS.items():
        families = {registry.task(name).family for name in general}
        assert families == {registry.task(biomedical).family}, biomedical


def test_scores_are_normalised_by_the_constant_answer() -> None:
    results = [
        accuracy("VaccineSA", "e", 60.0, 20.0),
        accuracy("MR", "e", 75.0, 50.0),
        accuracy("SST5", "e", 40.0, 20.0),
        accuracy("RQE", "e", 70.0, 55.0),
    ]
    (gap,) = domain_gaps(results)
    assert gap.biomedical.value == pytest.approx(0.5)
    assert [share.value for share in gap.general] == pytest.approx([0.25, 0.5])
    assert gap.gap == pytest.approx(0.375 - 0.5)
    # Half widths 2/80 for VaccineSA, 2/50 and 2/80 for the mean of two counterparts.
    half = (0.025**2 + (0.04**2 + 0.025**2) / 4) ** 0.5
    assert (gap.low, gap.high) == pytest.approx((gap.gap - half, gap.gap + half))
    assert gap.notes == ("without CR",)


def test_pairs_of_encoders() -> None:
    results = [
        accuracy("RQE", "general", 60.0, 50.0),
        accuracy("MRPC", "general", 80.0, 50.0),
        accuracy("RQE", "biomedical", 75.0, 50.0),
        accuracy("MRPC", "biomedical", 75.0, 50.0),
    ]
    ((general, biomedical, closed),) = paired_gaps(domain_gaps(results), "general", "biomedical")
    assert (general.gap, biomedical.gap) == pytest.approx((0.4, 0.0))
    # Half widths of 2 points of 50 for each of four scores; gaps are independent of each other.
    half = (4 * 0.04**2) ** 0.5
    assert closed == pytest.approx((0.4, 0.4 - half, 0.4 + half))
    wider = [accuracy("RQE", "biomedical", 75.0, 50.0, half=6.0) if r is results[2] else r for r in results]
    ((_, _, closed),) = paired_gaps(domain_gaps(wider), "general", "biomedical")
    half = (3 * 0.04**2 + 0.12**2) ** 0.5
    assert closed == pytest.approx((0.4, 0.4 - half, 0.4 + half))
    with pytest.raises(SettingsError, match="there are general, biomedical"):
        paired_gaps(domain_gaps(results), "general", "nobody")
    with pytest.raises(SettingsError, match="no encoder has results"):
        domain_gaps(results[:1])


def test_what_differs_is_noted() -> None:
    results = [accuracy("RQE", "e", 60.0, 50.0, synthetic=True), accuracy("MRPC", "e", 80.0, 50.0, protocol="kfold-10")]
    (gap,) = domain_gaps(results)
    assert gap.notes == ("protocols kfold, split", "synthetic beside real data")
    for style in ("markdown", "latex", "csv"):
        assert "+0.400" in render_gaps([gap], style)
    unknown = replace(results[1], coverage={"tokens": 0.4}, input={"texts_cut_share": 0.02})
    (gap,) = domain_gaps([results[0], unknown])
    assert gap.notes[2:] == (f"MRPC: {LITTLE_KNOWN_NOTE[2:]}", f"MRPC: {CUT_NOTE[2:]}")
    assert "knows less than half" in render_gaps([gap], "csv")


def test_only_whole_training_sets_count_and_several_protocols_are_noted() -> None:
    results = [
        accuracy("RQE", "e", 51.0, 50.0, protocol="kfold-10-shots-2-draws-5"),
        accuracy("RQE", "e", 60.0, 50.0, protocol="kfold-10"),
        accuracy("RQE", "e", 61.0, 50.0, protocol="kfold-5"),
        accuracy("MRPC", "e", 80.0, 50.0, protocol="kfold-10"),
    ]
    (gap,) = domain_gaps(results)
    assert gap.biomedical.score == 60.0
    assert gap.notes == ("RQE under kfold-10, exact, seed 1111, the first of several",)


def test_several_seeds_or_options_are_noted() -> None:
    whole = accuracy("RQE", "e", 60.0, 50.0, protocol="kfold-10", how="RQE@1|kfold-10|exact|seed=1111|data=abc")
    others = [
        accuracy("RQE", "e", 55.0, 50.0, protocol="kfold-10", how="RQE@1|kfold-10|exact|seed=1111|limit=9|data=abc"),
        accuracy("RQE", "e", 55.0, 50.0, protocol="kfold-10", seed=2, how="RQE@1|kfold-10|exact|seed=2|data=abc"),
    ]
    for other in others:
        (gap,) = domain_gaps([whole, other, accuracy("MRPC", "e", 80.0, 50.0, protocol="kfold-10")])
        assert gap.notes == ("RQE under kfold-10, exact, seed 1111, the first of several",)


def test_the_command(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "results")
    for encoder, shift in (("glove", 0.0), ("biobert", 8.0)):
        for task, value in (("RQE", 60.0 + shift), ("MRPC", 72.0), ("MedNLI", 55.0 + shift), ("SNLI", 70.0)):
            store.save(accuracy(task, encoder, value, 40.0))
    folder = str(tmp_path / "results")
    figure = tmp_path / "gap.png"
    result = CliRunner().invoke(main, ["gap", folder, "--pair", "glove,biobert", "--figure", str(figure)])
    assert result.exit_code == 0, result.output
    assert "Gap of glove  Gap of biobert  Closed" in result.stdout
    assert figure.stat().st_size > 5_000
    both = CliRunner().invoke(main, ["compare", folder, "--general", "--resamples", "100"])
    assert "Counterparts' shares" in both.stdout
    for arguments, message in ((["--pair", "glove"], "expected GENERAL,INDOMAIN"), (["--format", "x"], "is not one of 'text'")):
        wrong = CliRunner().invoke(main, ["gap", folder, *arguments])
        assert (wrong.exit_code, message in wrong.stderr) == (2, True)


@pytest.mark.parametrize(
    ("value", "baseline", "unit", "share"),
    [(0.6, 0.2, "fraction", 0.5), (60.0, 20.0, "percent", 0.5), (0.1, 0.2, "fraction", -0.125), (1.0, 0.0, "fraction", 1.0),
     (100.0, 100.0, "percent", 0.0), (1.0, 1.0, "fraction", 0.0)],
)  # fmt: skip
def test_the_share_of_the_way_to_a_perfect_score(value: float, baseline: float, unit: str, share: float) -> None:
    assert share_of_way(value, baseline, unit) == pytest.approx(share)
