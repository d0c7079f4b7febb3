"""What the README shows works as shown: the examples, and the test command that CI runs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import medsenteval
from medsenteval.datasets import load_dataset, sample_root
from medsenteval.registry import select_tasks
from medsenteval.settings import Settings
from tests.conftest import REPOSITORY


def run_example(*arguments: str) -> str:
    finished = subprocess.run([sys.executable, *arguments], cwd=REPOSITORY / "examples", capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.slow
def test_the_senteval_script_runs_with_its_import_changed(tmp_path: Path) -> None:
    texts = [
        text for task in select_tasks("MedNLI,BioASQ") for text in load_dataset(task, sample_root(), Settings()).all_texts()
    ]
    words = sorted({word for text in texts for word in text.split()})
    vectors = tmp_path / "tiny.vec"
    vectors.write_text("".join(f"{word} {len(word)} {ord(word[0]) % 7} {ord(word[-1]) % 5}\n" for word in words), "utf-8")
    results = ast.literal_eval(run_example("senteval_bow.py", str(vectors)).replace("np.float64", ""))
    assert set(results) == {"MedNLI", "BioASQ", "ClinicalSTS", "BIOSSES"}
    assert {"devacc", "acc", "ndev", "ntest"} <= set(results["MedNLI"])
    assert 0 < results["BioASQ"]["f1"] <= 100


@pytest.mark.slow
def test_an_encoder_of_ones_own() -> None:
    table = run_example("own_encoder.py")
    assert "tfidf-svd" in table
    assert "SYNTHETIC" in table


def test_ci_runs_the_readmes_test_command_word_for_word() -> None:
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    command = (REPOSITORY / ".ci" / "run").read_text("utf-8").splitlines()[-1]
    assert f"    {command}\n" in readme
    assert command in (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")


def test_every_file_that_the_documents_link_to_exists() -> None:
    for document in [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]:
        for target in (part.split(")")[0] for part in document.read_text("utf-8").split("](")[1:]):
            if not target.startswith("http"):
                assert (document.parent / target.split("#")[0]).exists(), f"{document.name} -> {target}"


def test_public_names_are_what_they_are() -> None:
    assert medsenteval.__all__ == ["Settings", "__version__", "as_encoder", "engine", "evaluate", "registry"]
    for name in medsenteval.__all__:
        assert getattr(medsenteval, name) is not None
        assert name in dir(medsenteval)
    with pytest.raises(AttributeError):
        medsenteval.nothing  # noqa: B018
