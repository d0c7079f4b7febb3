"""Data folders: found in any case, described when absent, compared with the published counts, limited without bias."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from medsenteval.contracts import Encoder
from medsenteval.datasets.completeness import differences
from medsenteval.datasets.locate import data_root, limited, load_dataset, locate, sample_root
from medsenteval.datasets.manifest import manifest, manifests
from medsenteval.datasets.status import examine
from medsenteval.engine import signature_of
from medsenteval.errors import DataError, DataMissingError, SettingsError
from medsenteval.registry import select_tasks, task, task_names
from medsenteval.settings import Settings

Write = Callable[..., Path]
AS_IT_IS = Settings(allow_incomplete=True)

CITATIONS = "".join(f"{label}\ttext {i} [C]\n" for i, label in enumerate(["neutral"] * 40 + ["positive"] * 9 + ["negative"]))


def test_every_sample_task_reads_without_a_difference_to_explain() -> None:
    for each in select_tasks("sentence"):
        dataset = load_dataset(each, sample_root(), Settings())
        assert dataset.synthetic
        assert len(dataset) >= 100
        assert {name for split in dataset.splits.values() for name in split.ids}


def test_folders_are_found_whatever_their_case_or_as_the_root_itself(write: Write) -> None:
    root = write({"citationsa/train.txt": CITATIONS})
    assert locate(task("CitationSA"), root) == root / "citationsa"
    assert locate(task("CitationSA"), root / "citationsa") == root / "citationsa"
    misspelt = write({"CitaionSA/train.txt": CITATIONS}, "other")
    assert locate(task("CitationSA"), misspelt).name == "CitaionSA"


def test_absent_data_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match=r"no folder MedNLI .*physionet"):
        load_dataset(task("MedNLI"), tmp_path, Settings())
    (tmp_path / "MedNLI").mkdir()
    with pytest.raises(DataMissingError, match=r"holds no file mli_train_v1.jsonl.*physionet"):
        load_dataset(task("MedNLI"), tmp_path, Settings())


def test_the_root_comes_from_the_argument_then_the_environment_then_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data_root() == sample_root()
    monkeypatch.setenv("MEDSENTEVAL_DATA", str(tmp_path))
    assert data_root() == tmp_path
    assert data_root(tmp_path.parent) == tmp_path.parent
    with pytest.raises(DataMissingError, match="does not exist"):
        data_root(tmp_path / "absent")


def test_a_difference_to_the_published_counts_is_noted(write: Write) -> None:
    dataset = load_dataset(task("CitationSA"), write({"CitationSA/train.txt": CITATIONS + "bad\trow\n"}), AS_IT_IS)
    assert "all has 50 rows, 4,182 are published" in dataset.notes
    assert any(note.startswith("1 row(s) rejected; the first: train.txt:51") for note in dataset.notes)
    assert not dataset.synthetic


def citations(rows: int, rejected: int = 0) -> dict[str, str]:
    return {"CitationSA/train.txt": "neutral\tit was found [C]\n" * rows + "odd\tit was not [C]\n" * rejected}


@pytest.mark.parametrize(
    ("rows", "rejected", "complaint"),
    [
        (3_764, 0, ""),
        (3_763, 0, "all has 3,763 rows where 4,182 are published (90.0 %)"),
        (4_646, 0, ""),
        (4_647, 0, "all has 4,647 rows where 4,182 are published (111.1 %)"),
        (4_116, 84, ""),
        (4_115, 85, "85 row(s) rejected (2.0 %), the first: train.txt:4116: unknown label 'odd'"),
    ],
)
def test_a_set_far_from_its_published_size_or_with_many_rejected_rows_is_not_ready(
    write: Write, rows: int, rejected: int, complaint: str
) -> None:
    root = write(citations(rows, rejected))
    if complaint:
        for limit in (None, 10):
            with pytest.raises(DataError, match=re.escape(f"CitationSA: not ready: {complaint}") + ".*--allow-incomplete"):
                load_dataset(task("CitationSA"), root, Settings(limit=limit))
    else:
        assert not load_dataset(task("CitationSA"), root, Settings()).incomplete
        # A limit is no shortage.
        assert not load_dataset(task("CitationSA"), root, Settings(limit=10)).incomplete
    allowed = load_dataset(task("CitationSA"), root, AS_IT_IS)
    assert (len(allowed), allowed.incomplete) == (rows, bool(complaint))


def test_what_differs_is_said_once(write: Write) -> None:
    found = examine(manifests()["CitationSA"], write(citations(4_100, 50)))
    assert found.differences == (
        "all has 4,100 rows, 4,182 are published",
        "50 row(s) rejected, the first: train.txt:4101: unknown label 'odd'; known: positive, neutral, negative",
    )
    assert (found.notes, found.problem, found.n_rejected, dict(found.counts)) == ((), "", 50, {"all": 4_100})


def test_the_signature_says_that_a_set_was_incomplete(write: Write, counting: Encoder) -> None:
    def signature(rows: int) -> str:
        dataset = load_dataset(task("CitationSA"), write(citations(rows), str(rows)), AS_IT_IS)
        return signature_of(task("CitationSA"), dataset, counting, AS_IT_IS)

    assert "|incomplete|data=" in signature(100)
    # Where nothing had to be allowed the flag changes nothing, so that no score is computed twice.
    assert "incomplete" not in signature(4_182)


def test_invented_data_is_ready_at_any_size(write: Write) -> None:
    root = write({**citations(9, 9), "SYNTHETIC.txt": ""})
    assert not load_dataset(task("CitationSA"), root, Settings()).incomplete


def test_tweets_vanish_and_what_is_left_is_said(write: Write) -> None:
    root = write({"VaccineSA/train.txt": "".join(f"{i}\tNeutral\ttweet {i}\n" for i in range(1_200))})
    dataset = load_dataset(task("VaccineSA"), root, Settings())
    assert "all has 1,200 rows, 1,853 are published: 65 % are left (tweets are deleted)" in dataset.notes
    assert not dataset.incomplete
    assert [each.name for each in manifests().values() if each.shrinks] == ["VaccineSA"]


def test_options_that_choose_no_rows_do_not_hide_a_shortage(write: Write) -> None:
    files = {f"AnatEM/{name}.tsv": "liver\tB-Anatomy\n" for name in ("train", "devel", "test")}
    settings = Settings(task_options={"AnatEM": {"preset": "repo"}})
    with pytest.raises(DataError, match="AnatEM: not ready: train has 1 rows where 5,861 are published"):
        load_dataset(task("AnatEM"), write(files), settings)
    for each in map(task, task_names()):
        assert set(each.row_options) <= set(each.options)


PUBLISHED = {
    "MedNLI": {"train": 11_232, "dev": 1_395, "test": 1_422},
    "RQE": {"train": 8_588, "test": 302},
    "PubMed20K": {"train": 180_040, "dev": 30_212, "test": 30_135},
    "PICO": {},
    "VaccineSA": {"all": 1_853},
    "CitationSA": {"all": 4_182},
    "BioC": {"all": 259},
    "BioASQ": {"train": 612, "test": 130},
    "ClinicalSTS": {"train": 750, "test": 318, "all": 1_068},
    "BIOSSES": {"all": 100},
}


def test_the_sentence_tasks_have_the_counts_of_their_publications() -> None:
    """As the papers print them; PICO's are printed for the corpus before it was split, so none are checked."""
    assert {each.name: dict(each.published_counts) for each in select_tasks("sentence")} == PUBLISHED
    for name, counts in PUBLISHED.items():
        files = {file.path: file.rows for file in manifest(name).files if file.layout == "official" and file.rows}
        if name not in ("BioASQ", "BIOSSES"):  # 616 questions, of which 612 have a snippet; pairs and ratings apart
            assert set(files.values()) <= set(counts.values()), name


@pytest.mark.parametrize("name", [name for name, counts in PUBLISHED.items() if counts and name != "VaccineSA"])
def test_a_part_of_each_sentence_task_is_not_ready(name: str, tmp_path: Path) -> None:
    """The sample's files without their mark are far from the published size, or have just that size."""
    source = locate(task(name), sample_root())
    shutil.copytree(source, tmp_path / source.name)
    sizes = {part: len(split) for part, split in load_dataset(task(name), tmp_path, AS_IT_IS).splits.items()}
    short = {part for part, rows in sizes.items() if not 0.9 <= rows / PUBLISHED[name][part] <= 1 / 0.9}
    if short:
        with pytest.raises(DataError, match=f"{name}: not ready: {sorted(short, key=list(sizes).index)[0]} has"):
            load_dataset(task(name), tmp_path, Settings())
    else:
        assert not load_dataset(task(name), tmp_path, Settings()).incomplete


def test_a_limit_keeps_the_proportions_of_the_classes_and_every_class(write: Write) -> None:
    root = write({"CitationSA/train.txt": CITATIONS})
    part = load_dataset(task("CitationSA"), root, AS_IT_IS.with_changes(limit=10)).splits["all"]
    assert part.labels is not None
    assert np.bincount(part.labels).tolist() in ([2, 7, 1], [1, 8, 1])
    positions = [int(item.split(":")[1]) for item in part.ids]
    assert positions == sorted(positions)
    whole = load_dataset(task("CitationSA"), root, AS_IT_IS)
    assert load_dataset(task("CitationSA"), root, AS_IT_IS.with_changes(limit=10)).fingerprint != whole.fingerprint


def test_a_limit_that_is_no_limit_and_rows_without_classes() -> None:
    split = load_dataset(task("BIOSSES"), sample_root(), Settings()).splits["all"]
    assert limited(split, len(split), 1) is split
    part = limited(split, 99, 1)
    assert (len(part), part.ids) == (99, tuple(name for name in split.ids if name in part.ids))
    assert limited(split, 99, 2).ids != part.ids


def test_published_counts_hold_for_the_rows_of_the_default_options_only() -> None:
    chosen = Settings(task_options={"BioASQ": {"snippets": "all"}})
    for settings, said in (
        (Settings(), ["train has 238 rows, 612 are published", "test has 60 rows, 130 are published"]),
        (chosen, []),
    ):
        dataset = replace(load_dataset(task("BioASQ"), sample_root(), settings), synthetic=False)
        assert differences(task("BioASQ"), dataset) == said


def test_reading_options_are_checked(write: Write) -> None:
    root = write({"CitationSA/train.txt": CITATIONS})
    with pytest.raises(SettingsError, match="no reading option 'snippets'"):
        load_dataset(task("CitationSA"), root, Settings(task_options={"CitationSA": {"snippets": "all"}}))
    with pytest.raises(SettingsError, match="it can be first, all, concat"):
        load_dataset(task("BioASQ"), sample_root(), Settings(task_options={"BioASQ": {"snippets": "some"}}))


def test_the_fingerprint_sees_every_change(write: Write) -> None:
    def fingerprint(text: str, folder: str) -> str:
        return load_dataset(task("CitationSA"), write({"CitationSA/train.txt": text}, folder), AS_IT_IS).fingerprint

    base = "positive\ta b\nneutral\tc\n"
    changed = [
        "positive\ta  b\nneutral\tc\n",
        "positive\ta\nneutral\tb c\n",
        "neutral\ta b\npositive\tc\n",
        "neutral\tc\npositive\ta b\n",
    ]
    prints = [fingerprint(text, f"d{i}") for i, text in enumerate([base, *changed])]
    assert prints[1] == prints[0]  # white space alone is no change: texts are cleaned
    assert len(set(prints)) == 4
