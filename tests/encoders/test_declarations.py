"""What encoders declare to have been trained on: read strictly, marked in every table, and unknown is never clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from medsenteval import evaluate, registry
from medsenteval.comparison.compare import compare_results
from medsenteval.contracts import TRAINED_NOTE, Result
from medsenteval.encoders.recipes import declared_tasks, describe, read_declaration, recipes
from medsenteval.errors import EncoderError, UnknownNameError
from medsenteval.report.comparison_table import render_comparison
from medsenteval.report.page_content import Page
from medsenteval.report.page_html import render_page
from medsenteval.running.result_store import load_results
from medsenteval.running.score_table import detail_table, score_table
from tests.comparison.simulated import accuracy_result


def declared(name: str, said: str | None, task: str = "RQE") -> Result:
    told = {} if said is None else {"input": {"trained_on": said}}
    return accuracy_result(task, name, [0, 1] * 50, [0, 1] * 45 + [1, 0] * 5, **told)


def test_a_file_says_yes_and_no_of_tasks_data_sets_and_groups(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('yes = ["rqe", "SICK"]\nno = ["MedNLI", "mteb:NFCorpus"]\n', "utf-8")
    found = read_declaration(str(tmp_path / "mine.toml"))
    assert {name for name, said in found.items() if said == "yes"} >= {"RQE", "SICKEntailment", "SICKRelatedness"}
    assert (found["MedNLI"], found["mteb:NFCorpus"]) == ("no", "no")
    encoder = registry.load_encoder(f"lexical,trained_on={tmp_path / 'mine.toml'}")
    assert encoder.trained_on == found  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"maybe": ["RQE"]}, "yes and no, and nothing else"),
        ({"yes": "RQE"}, "expected a list"),
        ({"yes": ["RQE"], "no": ["sentence"]}, "both yes and no of RQE"),
        (["RQE"], "yes and no, and nothing else"),
    ],
)
def test_a_declaration_that_can_be_misread_is_refused(table: object, said: str) -> None:
    with pytest.raises(EncoderError, match=said):
        declared_tasks(table, "mine.toml")


def test_unknown_tasks_and_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="RQEE"):
        declared_tasks({"yes": ["RQEE"]}, "mine.toml")
    with pytest.raises(EncoderError, match="cannot be read"):
        read_declaration(str(tmp_path / "absent.toml"))
    (tmp_path / "broken.toml").write_text("yes = [", "utf-8")
    with pytest.raises(EncoderError, match=r"broken\.toml"):
        read_declaration(str(tmp_path / "broken.toml"))


def test_recipes_declare_what_their_authors_trained_on() -> None:
    assert recipes()["infersent-1-mednli"].trained_on == {"MedNLI": "yes"}
    assert recipes()["biobert"].trained_on == {}
    assert "Trained on: MedNLI: yes" in describe(recipes()["infersent-1-mednli"])


def test_scores_on_declared_data_are_marked_everywhere_and_unknown_is_told() -> None:
    results = [declared("seen", "yes"), declared("unseen", "no"), declared("silent", None), declared("odd", "perhaps")]
    assert [result.trained_on for result in results] == ["yes", "no", "unknown", "unknown"]
    told = "1 score(s) yes, 1 no, 2 unknown, which does not mean no"
    comparison = compare_results(results, resamples=100)
    texts = [detail_table(results), score_table(results), render_comparison(comparison)]
    for text in texts:
        assert text.count("¶") >= 2
        assert f"{TRAINED_NOTE}." in text
        assert told in text
    assert r"90.00\P{}" in render_comparison(comparison, "latex")
    assert TRAINED_NOTE in render_comparison(comparison, "csv")
    page = render_page(Page(results))
    assert told in page
    assert "90.00¶" in page
    nobody = score_table([declared("silent", None)])
    assert "¶" not in nobody
    assert "0 no, 1 unknown, which does not mean no" in nobody


def test_a_stored_result_learns_of_a_later_declaration_without_being_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(tmp_path / "cache"))
    first = evaluate("lexical,dimension=16", "BIOSSES", output=tmp_path / "results")["BIOSSES"]
    assert first.trained_on == "no"  # it is trained on nothing
    (tmp_path / "mine.toml").write_text('yes = ["BIOSSES"]\n', "utf-8")
    spec = f"lexical,dimension=16,trained_on={tmp_path / 'mine.toml'}"
    again = evaluate(spec, "BIOSSES", output=tmp_path / "results")["BIOSSES"]
    assert (again.trained_on, again.made) == ("yes", first.made)
    (stored,) = load_results([str(tmp_path / "results")], tmp_path)
    assert stored.trained_on == "yes"
