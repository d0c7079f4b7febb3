"""SentEval's own tasks and its probing tasks: how their files are read; ``general_tasks.toml`` says the rest of them.

SICK-R and STSBenchmark are scored by a regression on the features of a pair, the others as all tasks of their family are.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np

from medsenteval.contracts import Dataset, Embeddings, Scores, Task
from medsenteval.errors import SettingsError
from medsenteval.probes.relatedness import fit_ridge, fit_softmax
from medsenteval.settings import Settings
from medsenteval.tasks.probe_rows import senteval_order, stack_splits
from medsenteval.tasks.reading.layouts import read_parallel_nli, read_sts_folder, tab_rows
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task, group_facts
from medsenteval.tasks.similarity import (
    CORRELATIONS,
    correlate_parts,
    correlation_metric,
    evaluate_similarity,
    evaluate_similarity_by_subset,
    predict_similarity,
)

_SPLITS: Final = ("train", "dev", "test")
#: The files of class 1, which SentEval reads first, and of class 0.
_BINARY_FILES: Final = {
    "MR": ("rt-polarity.pos", "rt-polarity.neg"),
    "CR": ("custrev.pos", "custrev.neg"),
    "SUBJ": ("subj.objective", "subj.subjective"),
    "MPQA": ("mpqa.pos", "mpqa.neg"),
}
_SST_FILES: Final = {name: f"sentiment-{name}" for name in _SPLITS}
#: The files of label and text a line, and the form of the lines.
_LINES: Final = {
    "SST2": (_SST_FILES, re.compile(r"(?P<text>[^\t]*)\t(?P<label>.*)"), "sentence TAB label"),
    "SST5": (_SST_FILES, re.compile(r"\s*(?P<label>\S+) (?P<text>.*\S)\s*"), "label sentence"),
    "TREC": (
        {"train": "train_5500.label", "test": "TREC_10.label"},
        re.compile(r"\s*(?P<label>[^:]*):\S* (?P<text>.*\S)\s*"),
        "COARSE:fine question",
    ),
}
#: SentEval's softmax over five grades (needs torch; drawn from the seed), or ridge regression (deterministic).
REGRESSIONS: Final = {"regression": ("senteval", "ridge")}
_MRPC_COLUMNS: Final = ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String")
_SICK_COLUMNS: Final = ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")
_SICK_FILES: Final = {"train": "SICK_train.txt", "dev": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}

_PARTS: Final = {"tr": "train", "va": "dev", "te": "test"}
#: Which linguistic property of a sentence can be read off its vector, asked on which file.
_PROBING_FILES: Final = {
    "Length": "sentence_length.txt",
    "WordContent": "word_content.txt",
    "Depth": "tree_depth.txt",
    "TopConstituents": "top_constituents.txt",
    "BigramShift": "bigram_shift.txt",
    "Tense": "past_present.txt",
    "SubjNumber": "subj_number.txt",
    "ObjNumber": "obj_number.txt",
    "OddManOut": "odd_man_out.txt",
    "CoordinationInversion": "coordination_inversion.txt",
}
#: A thousand classes: SentEval trains WordContent without a hidden layer whatever it is told.
_TRAINING: Final = {"WordContent": {"nhid": 0}}


def _read_binary(builder: DatasetBuilder) -> None:
    """Read two files of one text a line, the one of class 1 first."""
    split = builder.split("all")
    for label, file_name in zip(reversed(builder.labels), _BINARY_FILES[builder.name], strict=True):
        file = builder.require(file_name)
        for number, line in builder.lines(file):
            # A blank line is an item of SentEval's too (CR has four, MPQA three): kept, and noted as an empty text.
            split.add(file, number, line, label=label)


def _read_lines(builder: DatasetBuilder) -> None:
    """Read a label and a text a line; TREC's training file is Latin-1, and its labels are the coarse ones."""
    files, pattern, form = _LINES[builder.name]
    for name, file_name in files.items():
        file, split = builder.require(file_name), builder.split(name)
        for number, line in builder.filled_lines(file):
            if found := pattern.fullmatch(line):
                split.add(file, number, found["text"], label=found["label"])
            else:
                split.reject(file, number, f"not of the form {form}")


def _read_mrpc(builder: DatasetBuilder) -> None:
    """Read the two files with their header; a quotation mark in them is text, not quoting."""
    for name in ("train", "test"):
        file, split = builder.require(f"msr_paraphrase_{name}.txt"), builder.split(name)
        for number, (label, _, _, first, second) in tab_rows(builder, file, split, _MRPC_COLUMNS):
            if number > 1 or label.strip() != _MRPC_COLUMNS[0]:
                split.add(file, number, first, second, label=label)


def _read_snli(builder: DatasetBuilder) -> None:
    for name in _SPLITS:
        read_parallel_nli(builder, name)


def _read_sick(builder: DatasetBuilder) -> None:
    """Read the three files with their header; only the test file ends its lines with CR LF."""
    for name, file_name in _SICK_FILES.items():
        file, split = builder.require(file_name), builder.split(name)
        for number, (pair, first, second, score, judgment) in tab_rows(builder, file, split, _SICK_COLUMNS):
            target: dict[str, Any] = {"label": judgment} if builder.labels else {"score": score}
            if number > 1 or pair.strip() != _SICK_COLUMNS[0]:
                split.add(file, number, first, second, **target, item=f"pair {pair}")


def _read_sts_benchmark(builder: DatasetBuilder) -> None:
    """Read tab columns genre, file, year, id, score, two sentences; the original text adds one or two for sources."""
    # Without training nothing need be held out, but what others call the cosine's score is that of test.
    for name in ("test",) if builder.name == "STSBenchmarkCosine" else _SPLITS:
        file, split = builder.require(f"sts-{name}.csv"), builder.split(name)
        for number, line in builder.filled_lines(file):
            fields = line.split("\t")
            if len(fields) < 7:
                split.reject(file, number, f"{len(fields)} tab-separated field(s) where 7 or more are expected")
            else:
                split.add(file, number, fields[5], fields[6], score=fields[4])


def _read_sts(builder: DatasetBuilder) -> None:
    for subset in group_facts("general")[builder.name]["published_counts"]:
        read_sts_folder(builder, subset, subset)


def _read_probing(builder: DatasetBuilder) -> None:
    """Read lines of partition, class and, as last field, the sentence; the classes are those of the training rows."""
    file = builder.require(_PROBING_FILES[builder.name])
    rows = [(number, line.rstrip().split("\t")) for number, line in builder.filled_lines(file)]
    # In sorted order, as SentEval numbers them.
    builder.labels = tuple(sorted({fields[1] for _, fields in rows if fields[0] == "tr" and len(fields) > 2}))
    splits = {part: builder.split(name) for part, name in _PARTS.items()}
    for number, fields in rows:
        if fields[0] in splits and len(fields) > 2:
            splits[fields[0]].add(file, number, fields[-1], label=fields[1])
        else:
            builder.reject(file, number, "expected tr, va or te TAB class TAB ... TAB sentence")


def evaluate_relatedness(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Train on train, stop or choose the penalty on dev, correlate the predictions for test with the gold scores."""
    if settings.part_of_training:
        raise SettingsError(f"{task.name}: train_fraction and shots are not offered for its regression")
    splits = {name: split.take(senteval_order(split)) for name, split in dataset.splits.items()}
    stacked = stack_splits(task, splits, embeddings, settings)
    train, dev, test = (stacked.rows[name] for name in ("train", "dev", "test"))
    gold = [stacked.targets[rows] for rows in (train, dev, test)]
    if dataset.options.get("regression") == "ridge":
        fit = fit_ridge(stacked.features, train, gold[0], dev, gold[1], test)
    else:
        fit = fit_softmax(stacked.features, train, gold[0], dev, gold[1], test, settings.seed)
    metrics = tuple(correlation_metric(kind, fit.predicted, gold[2], settings) for kind in CORRELATIONS)
    legacy = {"devpearson": fit.dev_pearson, **{metric.name: metric.value for metric in metrics}}
    # SimCSE's fork of SentEval scores these tasks by their cosines; its scripts read them under the splits' names.
    cosines = correlate_parts(
        {name: predict_similarity(task, split, embeddings, settings)[:2] for name, split in splits.items()}
    )
    mse = float(np.mean((fit.predicted - gold[2]) ** 2))
    predicted = fit.predicted.tolist()
    return Scores(
        metrics=metrics,
        n_train=len(train),
        n_test=len(test),
        items={"id": splits["test"].ids, "gold": gold[2].tolist(), "predicted": predicted},
        senteval={**legacy, "mse": mse, "yhat": predicted, "ndev": len(dev), "ntest": len(test), **cosines},
        details={"mse": mse, "dev_pearson": fit.dev_pearson, **fit.details},
    )


_OBTAIN: Final = group_facts("general")["probing"]["obtain"]
TASKS: Final = {
    task.name: task
    for task in (
        *(file_task("general", name, _read_binary) for name in _BINARY_FILES),
        *(file_task("general", name, _read_lines) for name in _LINES),
        file_task("general", "MRPC", _read_mrpc),
        file_task("general", "SNLI", _read_snli),
        file_task("general", "SICKEntailment", _read_sick),
        file_task("general", "SICKRelatedness", _read_sick, evaluate_relatedness, options=REGRESSIONS),
        file_task("general", "SICKRelatednessCosine", _read_sick, evaluate_similarity),
        file_task("general", "STSBenchmark", _read_sts_benchmark, evaluate_relatedness, options=REGRESSIONS),
        file_task("general", "STSBenchmarkCosine", _read_sts_benchmark, evaluate_similarity),
        *(file_task("general", f"STS{year}", _read_sts, evaluate_similarity_by_subset) for year in range(12, 17)),
        *(
            file_task(
                "general", "probing", _read_probing, name=name, obtain=_OBTAIN.format(file), training=_TRAINING.get(name, {})
            )
            for name, file in _PROBING_FILES.items()
        ),
    )
}
