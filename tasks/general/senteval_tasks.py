"""SentEval's own tasks: how their files are read; ``general_tasks.toml`` says all the rest of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from medsenteval.contracts import Dataset, Embeddings, Scores, Task
from medsenteval.settings import Settings
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.general.supervised_similarity import REGRESSIONS, evaluate_relatedness
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.layouts import read_parallel_nli, read_sts_folder, tab_rows
from medsenteval.tasks.reading.task_facts import task_facts
from medsenteval.tasks.similarity import evaluate_similarity, evaluate_similarity_by_subset

_SPLITS: Final = ("train", "dev", "test")
#: The files of class 1, which SentEval reads first, and of class 0.
_BINARY_FILES: Final = {
    "MR": ("rt-polarity.pos", "rt-polarity.neg"),
    "CR": ("custrev.pos", "custrev.neg"),
    "SUBJ": ("subj.objective", "subj.subjective"),
    "MPQA": ("mpqa.pos", "mpqa.neg"),
}
_MRPC_COLUMNS: Final = ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String")
_SICK_COLUMNS: Final = ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")
_SICK_FILES: Final = {"train": "SICK_train.txt", "dev": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}


def _read_binary(builder: DatasetBuilder) -> None:
    """Read two files of one text a line, the one of class 1 first."""
    split = builder.split("all")
    for label, file_name in zip(reversed(builder.labels), _BINARY_FILES[builder.name], strict=True):
        file = builder.require(file_name)
        for number, line in builder.lines(file):
            # A blank line is an item of SentEval's too (CR has four, MPQA three): kept, and noted as an empty text.
            split.add(file, number, line, label=label)


def _read_sst2(builder: DatasetBuilder) -> None:
    for name in _SPLITS:
        file, split = builder.require(f"sentiment-{name}"), builder.split(name)
        for number, (text, label) in tab_rows(builder, file, split, ("sentence", "label")):
            split.add(file, number, text, label=label)


def _read_sst5(builder: DatasetBuilder) -> None:
    for name in _SPLITS:
        file, split = builder.require(f"sentiment-{name}"), builder.split(name)
        for number, line in builder.lines(file):
            label, blank, text = line.strip().partition(" ")
            if blank:
                split.add(file, number, text, label=label)
            elif label:
                split.reject(file, number, "no blank between label and sentence")


def _read_trec(builder: DatasetBuilder) -> None:
    """Read lines ``COARSE:fine question``; the training file is Latin-1."""
    for name, file_name in (("train", "train_5500.label"), ("test", "TREC_10.label")):
        file, split = builder.require(file_name), builder.split(name)
        for number, line in builder.lines(file):
            if not line.strip():
                continue
            label, colon, rest = line.strip().partition(":")
            _, blank, question = rest.partition(" ")
            if colon and blank:
                split.add(file, number, question, label=label)
            else:
                split.reject(file, number, "not of the form COARSE:fine question")


def _read_mrpc(builder: DatasetBuilder) -> None:
    """Read the two files with their header; a quotation mark in them is text, not quoting."""
    for name in ("train", "test"):
        file, split = builder.require(f"msr_paraphrase_{name}.txt"), builder.split(name)
        for number, fields in tab_rows(builder, file, split, _MRPC_COLUMNS):
            if number == 1 and fields[0].strip() == _MRPC_COLUMNS[0]:
                continue
            label, _, _, first, second = fields
            split.add(file, number, first, second, label=label)


def _read_snli(builder: DatasetBuilder) -> None:
    for name in _SPLITS:
        read_parallel_nli(builder, name)


def _read_sick(builder: DatasetBuilder) -> None:
    """Read the three files with their header; only the test file ends its lines with CR LF."""
    for name, file_name in _SICK_FILES.items():
        file, split = builder.require(file_name), builder.split(name)
        for number, (pair, first, second, score, judgment) in tab_rows(builder, file, split, _SICK_COLUMNS):
            if number == 1 and pair.strip() == _SICK_COLUMNS[0]:
                continue
            target: dict[str, Any] = {"label": judgment} if builder.labels else {"score": score}
            split.add(file, number, first, second, **target, item=f"pair {pair}")


def _read_sts_benchmark(builder: DatasetBuilder) -> None:
    """Read tab columns genre, file, year, id, score, two sentences; the original text adds one or two for sources."""
    # Without training nothing need be held out, but what others call the cosine's score is that of test.
    for name in ("test",) if builder.name == "STSBenchmarkCosine" else _SPLITS:
        file, split = builder.require(f"sts-{name}.csv"), builder.split(name)
        for number, line in builder.lines(file):
            if not line.strip():
                continue
            fields = line.split("\t")
            if len(fields) < 7:
                split.reject(file, number, f"{len(fields)} tab-separated field(s) where 7 or more are expected")
                continue
            split.add(file, number, fields[5], fields[6], score=fields[4])


def _read_sts(builder: DatasetBuilder) -> None:
    for subset in task_facts("general", builder.name)["published_counts"]:
        read_sts_folder(builder, subset, subset)


def _task(
    name: str,
    fill: Callable[[DatasetBuilder], None],
    evaluate: Callable[[Task, Dataset, Embeddings, Settings], Scores] = evaluate_classification,
    options: Mapping[str, tuple[str, ...]] | None = None,
) -> Task:
    facts = task_facts("general", name)

    def read(folder: Path, chosen: Mapping[str, str]) -> Dataset:
        pairs = facts["family"] != "classification"
        builder = DatasetBuilder(name, folder, labels=facts.get("labels", ()), pairs=pairs, options=chosen)
        fill(builder)
        return builder.build()

    return Task(read=read, evaluate=evaluate, options=options or {}, **facts)


TASKS: Final = {
    task.name: task
    for task in (
        *(_task(name, _read_binary) for name in _BINARY_FILES),
        _task("SST2", _read_sst2),
        _task("SST5", _read_sst5),
        _task("TREC", _read_trec),
        _task("MRPC", _read_mrpc),
        _task("SNLI", _read_snli),
        _task("SICKEntailment", _read_sick),
        _task("SICKRelatedness", _read_sick, evaluate_relatedness, REGRESSIONS),
        _task("SICKRelatednessCosine", _read_sick, evaluate_similarity),
        _task("STSBenchmark", _read_sts_benchmark, evaluate_relatedness, REGRESSIONS),
        _task("STSBenchmarkCosine", _read_sts_benchmark, evaluate_similarity),
        *(_task(f"STS{year}", _read_sts, evaluate_similarity_by_subset) for year in range(12, 17)),
    )
}
