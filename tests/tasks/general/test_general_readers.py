"""SentEval's folders: real files whole, quirks survived, bad rows rejected by file and line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from medsenteval import registry
from medsenteval.contracts import Dataset
from medsenteval.datasets.locate import load_dataset, locate, sample_root
from medsenteval.engine import evaluate_task
from medsenteval.errors import DataError, DataMissingError
from medsenteval.registry import TASK_GROUPS
from medsenteval.settings import Settings
from tests.conftest import CountingEncoder

Write = Callable[..., Path]

COUNTS = {
    "MR": {"all": 10_662},
    "CR": {"all": 3_775},
    "SUBJ": {"all": 10_000},
    "MPQA": {"all": 10_606},
    "SST2": {"train": 67_349, "dev": 872, "test": 1_821},
    "SST5": {"train": 8_544, "dev": 1_101, "test": 2_210},
    "TREC": {"train": 5_452, "test": 500},
    "MRPC": {"train": 4_076, "test": 1_725},
    "SICKEntailment": {"train": 4_500, "dev": 500, "test": 4_927},
    "SICKRelatedness": {"train": 4_500, "dev": 500, "test": 4_927},
    "SICKRelatednessCosine": {"train": 4_500, "dev": 500, "test": 4_927},
    "STSBenchmark": {"train": 5_749, "dev": 1_500, "test": 1_379},
    "STSBenchmarkCosine": {"test": 1_379},
    "STS12": {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 459, "surprise.OnWN": 750, "surprise.SMTnews": 399},
    "STS13": {"FNWN": 189, "headlines": 750, "OnWN": 561},
    "STS14": {"deft-forum": 450, "deft-news": 300, "headlines": 750, "images": 750, "OnWN": 750, "tweet-news": 750},
    "STS15": {"answers-forums": 375, "answers-students": 750, "belief": 375, "headlines": 750, "images": 750},
    "STS16": {"answer-answer": 254, "headlines": 249, "plagiarism": 230, "postediting": 244, "question-question": 209},
}


def load(name: str, root: Path) -> Dataset:
    return load_dataset(registry.task(name), root, Settings(allow_incomplete=True))


@pytest.mark.realdata
@pytest.mark.parametrize("name", COUNTS)
def test_real_files_are_read_whole(realdata: Path, name: str) -> None:
    dataset = load(name, realdata / "senteval" / "data")
    assert {split: len(rows) for split, rows in dataset.splits.items()} == COUNTS[name]
    assert not dataset.rejected
    assert not [note for note in dataset.notes if "published" in note]
    if dataset.label_names:
        seen = np.unique(np.concatenate([split.labels for split in dataset.splits.values() if split.labels is not None]))
        assert seen.tolist() == list(range(len(dataset.label_names)))


@pytest.mark.realdata
def test_real_labels_are_the_right_way_round(realdata: Path) -> None:
    root = realdata / "senteval" / "data"
    positive = {name: int(np.sum(load(name, root).splits["all"].labels == 1)) for name in ("MR", "CR", "SUBJ", "MPQA")}
    assert positive == {"MR": 5_331, "CR": 2_407, "SUBJ": 5_000, "MPQA": 3_312}
    mrpc = load("MRPC", root)
    labels = [mrpc.splits[name].labels for name in ("train", "test")]
    assert [int(column.sum()) for column in labels if column is not None] == [2_753, 1_147]


@pytest.mark.realdata
def test_a_missing_snli_train_is_absent_data_not_an_error_of_the_run(realdata: Path) -> None:
    with pytest.raises(DataMissingError, match=r"s1\.train.*get_transfer_data"):
        load("SNLI", realdata / "senteval" / "data")


def test_every_part_of_the_sample_is_scored(counting: CountingEncoder) -> None:
    names = ["MR", "CR", "SST5", "TREC", "MRPC", "SNLI", "STSBenchmarkCosine", "STS12", "STS16", "Tense"]
    settings = Settings(probe="sklearn", folds=3, resamples=100)
    for name in names:
        task = registry.task(name)
        result = evaluate_task(task, load_dataset(task, sample_root(), settings), counting, settings)
        assert result.synthetic
        assert [metric.name for metric in result.metrics][: len(task.metrics)] == list(task.metrics)
        assert len(result.items["id"]) == result.n_test


def test_sts_scores_are_means_of_subsets(counting: CountingEncoder) -> None:
    from scipy import stats

    task = registry.task("STS12")
    result = evaluate_task(task, load("STS12", sample_root()), counting, Settings(resamples=100))
    gold, predicted, subset = (np.array(result.items[key]) for key in ("gold", "predicted", "subset"))
    names = list(dict.fromkeys(subset))
    each = [stats.pearsonr(predicted[subset == name], gold[subset == name]).statistic for name in names]
    assert result.metric("pearson").value == pytest.approx(np.mean(each))
    assert result.metric("pearson_weighted").value == pytest.approx(np.average(each, weights=[40] * 5))
    assert result.metric("spearman_pooled").value == pytest.approx(stats.spearmanr(predicted, gold).statistic)
    assert result.senteval["all"]["pearson"]["mean"] == result.metric("pearson").value
    assert result.senteval[names[1]]["pearson"][0] == pytest.approx(each[1])
    low, high = result.metric("pearson").low, result.metric("pearson").high
    assert low < result.metric("pearson").value < high


def test_quirks_of_the_real_files(write: Write) -> None:
    trec_rows = "HUM:ind Who is René ?\nNUM:date When ?\n\nWHAT no colon\nXXX:y Which ?\n"
    header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    root = write(
        {
            "downstream/TREC/train_5500.label": trec_rows.encode("latin-1"),
            "downstream/TREC/TREC_10.label": "LOC:other Where ?\n",
            "downstream/MRPC/msr_paraphrase_train.txt": f'\ufeff{header}1\t1\t2\ta "b\tc\n0\t1\n',
            "downstream/MRPC/msr_paraphrase_test.txt": f"{header}0\t1\t2\ta\tb\n",
            "downstream/SST/fine/sentiment-train": "4 good film\n9 odd\n3\n",
            "downstream/SST/fine/sentiment-dev": "0 bad\n",
            "downstream/SST/fine/sentiment-test": "2 so so\n",
            "downstream/STS/STSBenchmark/sts-test.csv": "g\tf\t2017\t1\t3.0\ta\tb\tsource\nshort\tline\n\n"
            "g\tf\t2017\t2\t2\tc\td\ng\tf\t2017\t2\t2\tc\n",
            **{
                f"downstream/SST/binary/sentiment-{part}": " good film \t1\n\nno tab 0\n\t0\ntwo\t1\t0\n"
                for part in ("train", "dev", "test")
            },
        }
    )
    trec = load("TREC", root)
    assert trec.splits["train"].texts == ("Who is René ?", "When ?")
    assert any("Latin-1" in note for note in trec.notes)
    assert [(row.line, row.reason.split(";")[0]) for row in trec.rejected] == [
        (4, "not of the form COARSE:fine question"),
        (5, "unknown label 'XXX'"),
    ]
    mrpc = load("MRPC", root)
    assert mrpc.splits["train"].texts == ('a "b',)
    assert [str(row).split(":")[1] for row in mrpc.rejected] == ["3"]
    assert [row.line for row in load("SST5", root).rejected] == [2, 3]
    benchmark = load("STSBenchmarkCosine", root)
    assert (benchmark.splits["test"].texts, benchmark.splits["test"].texts2) == (("a", "c"), ("b", "d"))
    assert [str(row) for row in benchmark.rejected] == [
        f"sts-test.csv:{line}: {n} tab-separated field(s) where 7 or more are expected" for line, n in ((2, 2), (5, 6))
    ]
    sst2 = load("SST2", root)
    assert (sst2.splits["dev"].texts, sst2.splits["dev"].ids) == (("good film", ""), ("sentiment-dev:1", "sentiment-dev:4"))
    assert [str(row).partition(";")[0] for row in sst2.rejected[:2]] == [
        "sentiment-train:3: not of the form sentence TAB label", "sentiment-train:5: unknown label '1\\t0'",
    ]  # fmt: skip


def test_sick_has_a_header_labels_and_scores(write: Write) -> None:
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    parts = {"train": "7\ta\tb\t4.5\tNEUTRAL\n", "trial": "8\tc\td\t1\tENTAILMENT\n"}
    files = {f"downstream/SICK/SICK_{part}.txt": header + rows for part, rows in parts.items()}
    test = f"{header}9\te\tf\t5\tCONTRADICTION\n{header}10\tg\n9\te\tf\t5\tCONTRADICTION\n".replace("\n", "\r\n")
    root = write({**files, "downstream/SICK/SICK_test_annotated.txt": test})
    for name, targets in (
        ("SICKEntailment", ["NEUTRAL", "ENTAILMENT", "CONTRADICTION"]),
        ("SICKRelatedness", [4.5, 1.0, 5.0]),
    ):
        dataset = load(name, root)
        columns = [split.scores if split.labels is None else split.labels for split in dataset.splits.values()]
        found = [each for column in columns if column is not None for each in column.tolist()]
        assert ([dataset.label_names[each] for each in found] if dataset.label_names else found) == targets
        assert dataset.splits["test"].ids == ("pair 9",)
        assert [(row.line, row.item) for row in dataset.rejected] == [(3, "pair pair_ID"), (4, ""), (5, "pair 9")]


def test_only_word_content_is_trained_without_a_hidden_layer() -> None:
    found = {name: registry.task(name).training for name in TASK_GROUPS["probing"]}
    assert {name: training for name, training in found.items() if training} == {"WordContent": {"nhid": 0}}
    assert len(found) == 10


def test_probing_classes_come_from_the_training_rows(write: Write) -> None:
    rows = ["tr\tStill\ta", "tr\tstill\tb", "va\tstill\tc", "te\tStill\tx\td", "te\tnever\te", "zz\tstill\tf", "", "te\tstill"]
    root = write({"probing/word_content.txt": "\n".join(rows) + "\n"})
    dataset = load("WordContent", root)
    assert dataset.label_names == ("Still", "still")
    assert [split.labels.tolist() for split in dataset.splits.values() if split.labels is not None] == [[0, 1], [1], [0]]
    assert dataset.splits["test"].texts == ("d",)
    assert [row.line for row in dataset.rejected] == [5, 6, 8]
    with pytest.raises(DataMissingError, match=r"sentence_length\.txt"):
        load("Length", root)
    with pytest.raises(DataError, match="no readable row in the split 'dev'"):
        load("Tense", write({"probing/past_present.txt": "tr\tPAST\ta\n"}, "other"))


def test_senteval_folders_are_found_from_any_folder_on_the_way(write: Write) -> None:
    root = write({"Downstream/mr/rt-polarity.pos": "a\n", "Downstream/mr/rt-polarity.neg": "b\n"})
    task = registry.task("MR")
    expected = root / "Downstream" / "mr"
    for start in (root, root / "Downstream", expected):
        assert locate(task, start) == expected
    with pytest.raises(DataMissingError, match="no folder downstream/CR"):
        locate(registry.task("CR"), root)
