"""A user's own data as a Task: a file, a folder of splits, a data set of the model hub, or a table in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from medsenteval import registry
from medsenteval.contracts import Dataset, Embeddings, Scores, Split, Task
from medsenteval.datasets.quality import REPEATED, quality_lines
from medsenteval.errors import DataError, SettingsError, UnknownNameError
from medsenteval.settings import Settings
from medsenteval.support.tables import Table
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.ner.corpus import OPTIONS as TAGGER_OPTIONS
from medsenteval.tasks.ner.corpus import TaggedDataset
from medsenteval.tasks.ner.tagging_evaluation import evaluate_tagging
from medsenteval.tasks.own.rows import read_rows, read_sentences
from medsenteval.tasks.own.table_sources import file_parts, hub_parts, table_in_memory
from medsenteval.tasks.reading.column_roles import COLUMN_ROLES, Columns, Kind, infer_columns
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.similarity import concatenate_splits, evaluate_similarity
from medsenteval.tasks.word.word_pairs import MULTIWORD, OOV, as_word_pairs, evaluate_word_pairs

#: Up to this many rows near duplicates are looked for as well; among more of them that takes minutes.
_NEAR_ROWS: Final = 20_000
#: Options beside columns, and those of single kinds of task with their values, the default first.
_OTHERS: Final = ("protocol", "metric", "positive", "name", "sheet", "revision")
_OF_KIND: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "word similarity": {"oov": OOV, "multiword": tuple(value for value in MULTIWORD if value != "skip")},
    "tagging": {name: values for name, values in TAGGER_OPTIONS.items() if name != "scheme"},
}
#: Pairs of labels of which the second one says yes.
_NO_YES: Final = (["0", "1"], ["false", "true"], ["no", "yes"], ["negative", "positive"], ["n", "y"])


@dataclass(frozen=True, eq=False)
class _Checked:
    """The data set as it was read; asked for, it comes with what is odd about it. A Task's ``read``."""

    dataset: Dataset
    nested: bool

    def __call__(self, folder: Path, options: Mapping[str, str]) -> Dataset:
        return self._with_quality

    @cached_property
    def _with_quality(self) -> Dataset:
        return replace(self.dataset, notes=(*self.dataset.notes, *_quality(self.dataset, self.nested)))


def make_task(kind: str, source: Any, options: Mapping[str, str]) -> Task:
    """Read what a user names and return its task: ``kind`` is file (or folder), hf, or table for what is in memory."""
    unknown = sorted(set(options) - {*COLUMN_ROLES, *_OTHERS, *(name for own in _OF_KIND.values() for name in own)})
    if unknown:
        raise SettingsError(f"{kind}:{source}: no option {unknown[0]!r}; there are {', '.join([*COLUMN_ROLES, *_OTHERS])}")
    signed: dict[str, str] = {}
    if kind == "hf":
        name = f"hf:{source}"
        parts, signed["revision"] = hub_parts(source, options.get("revision", ""))
    elif kind == "file":
        path = Path(source).expanduser()
        name, parts = f"file:{path.resolve().name}", file_parts(path, options.get("sheet", ""))
    else:
        name, parts = "table", [("", table_in_memory(source))]
    if options.get("name"):
        name = _own_name(options["name"])
    columns = infer_columns(
        name, _common_columns(name, parts), {role: options[role] for role in COLUMN_ROLES if role in options}
    )
    signed |= _options_of_kind(name, columns.kind, options)
    builder = DatasetBuilder(name, Path(), pairs="text2" in columns.of)
    # Bars separate the parts of a signature.
    builder.options = {role: column.replace("%", "%25").replace("|", "%7C") for role, column in columns.of.items()} | signed
    builder.files = [Path(table) for table in dict.fromkeys(table.name for _, table in parts)]
    builder.notes = list(dict.fromkeys(note for _, table in parts for note in table.notes))
    if columns.kind == "tagging":
        found = read_sentences(builder, parts, columns)
        dataset: Dataset = TaggedDataset(**builder.facts(), splits=found)
    else:
        read_rows(builder, parts, columns, bool(options.get("label")))
        dataset = builder.build()
    described = _describe(columns, dataset)
    protocol, splits = _protocol(name, columns.kind, dataset.splits, options.get("protocol", ""))
    dataset = replace(dataset, splits=splits)
    if columns.kind == "word similarity":
        dataset = as_word_pairs(dataset)
    probed = columns.kind in ("classification", "pair classification")
    positive = _positive(name, builder.labels, options) if probed else None
    return Task(
        name=name,
        version="1",
        family=columns.kind,
        protocol=protocol,
        metrics=_metrics(name, columns.kind, options.get("metric", "")),
        folders=(),
        read=_Checked(dataset, protocol == "nested"),
        evaluate=_KINDS[columns.kind][0],
        citation="",
        licence="your own data",
        access="private",
        obtain="",
        labels=builder.labels,
        positive_label=positive,
        groups_are=columns.of.get("group", ""),
        uses_probe=probed,
        own_data=described,
        always_grouped="group" in columns.of and probed and protocol != "split",
    )


def _common_columns(name: str, parts: Sequence[tuple[str, Table]]) -> list[str]:
    first, *others = (table for _, table in parts)
    common = [column for column in first.columns if all(column in table.columns for table in others)]
    if not common:
        raise DataError(f"{name}: {first.name} and {others[0].name} have no column in common; do both have a header row?")
    return common


def _own_name(name: str) -> str:
    """Return the name that a user gives; one under which another task is known would lend it that task's terms."""
    if not re.fullmatch(r"[\w.:/-]+", name):
        raise SettingsError(f"name={name}: a name has letters, digits and . : / - _ only")
    try:
        known = registry.canonical_task_name(name)
    except UnknownNameError:
        return name
    raise SettingsError(f"name={name}: this is the task {known}; choose another name")


def _options_of_kind(name: str, kind: Kind, options: Mapping[str, str]) -> dict[str, str]:
    known = _OF_KIND.get(kind, {})
    for option in (each for own in _OF_KIND.values() for each in own if each in options):
        if option not in known:
            raise SettingsError(f"{name}: {option}= is no option of {kind}; it has {', '.join(known) or 'none of its own'}")
        if options[option] not in known[option]:
            raise SettingsError(f"{name}: {option} is {options[option]!r}; it can be {', '.join(known[option])}")
    return {option: options.get(option, values[0]) for option, values in known.items()}


def _protocol(name: str, kind: Kind, splits: Mapping[str, Split], asked: str) -> tuple[str, dict[str, Split]]:
    """Return the protocol, as the splits allow or the user asks, and the splits that it needs."""
    there = ", ".join(splits)
    if kind in ("similarity", "word similarity", "tagging"):
        own = "window-tagger" if kind == "tagging" else "cosine"
        if asked and asked != own:
            raise SettingsError(f"{name}: protocol is {asked!r}; {kind} has only {own}")
        if kind != "tagging":  # nothing is trained, so that nothing need be held out
            return own, {"all": concatenate_splits(list(splits.values()))}
        if not {"train", "test"} <= splits.keys():
            raise DataError(f"{name}: a tagger needs sentences to train on and others to test; there is {there} only: give a "
                            "folder with train and test files, or a column with split=COLUMN")  # fmt: skip
        return own, dict(splits)
    whole = {"split": ("train", "dev", "test"), "kfold": ("train", "test"), "nested": ()}
    if asked and asked not in whole:
        raise SettingsError(f"{name}: protocol is {asked!r}; it can be {', '.join(whole)}")
    if len(splits) == 1:
        asked = asked or "nested"
    elif not asked:
        asked = next((each for each, needed in whole.items() if needed and set(needed) == set(splits)), "")
        if not asked:
            raise DataError(f"{name}: there is {there}, and no test rows or nothing to train on; protocol=nested joins all")
    if missing := [split for split in whole[asked] if split not in splits]:
        raise DataError(f"{name}: protocol={asked} needs {' and '.join(missing)}; there is {there}")
    if asked == "nested":
        return asked, {"all": concatenate_splits(list(splits.values()))}
    if asked == "kfold" and "dev" in splits:
        return asked, {"train": concatenate_splits([splits["train"], splits["dev"]]), "test": splits["test"]}
    return asked, {split: splits[split] for split in whole[asked]}


def _positive(name: str, labels: Sequence[str], options: Mapping[str, str]) -> str | None:
    """Return the label whose F1 is asked for; with two labels that say yes and no it is clear which."""
    positive = options.get("positive", "")
    if positive and positive not in labels:
        raise SettingsError(f"{name}: positive={positive} is none of the labels {', '.join(labels)}")
    if not positive and sorted(label.casefold() for label in labels) in _NO_YES:
        positive = max(labels, key=str.casefold)
    if options.get("metric") == "f1" and not positive:
        raise SettingsError(f"{name}: metric=f1 is that of one label; say which with positive=LABEL: {', '.join(labels)}")
    return positive or None


def _metrics(name: str, kind: Kind, asked: str) -> tuple[str, ...]:
    known = _KINDS[kind][1]
    if asked and asked not in known:
        raise SettingsError(f"{name}: metric is {asked!r}; {kind} has {', '.join(known)}")
    return (asked,) if asked else known[: 2 if kind == "similarity" else 1]


def _describe(columns: Columns, dataset: Dataset) -> str:
    said = []
    splits = dataset.splits
    for role, column in columns.of.items():
        said.append(f"{role} <- {column}")
        if role == "label":
            numbers = np.concatenate([split.labels for split in splits.values() if split.labels is not None])
            counts = np.bincount(numbers, minlength=len(dataset.label_names)).tolist()
            shown = [f"{label} {count:,}" for label, count in zip(dataset.label_names, counts, strict=True)]
            said[-1] += f" ({len(shown)} labels: {', '.join(shown[:8])}{', …' if len(shown) > 8 else ''})"
        elif role == "group":
            said[-1] += f" ({len({each for split in splits.values() for each in split.groups or ()}):,} groups)"
    what = "sentences" if columns.kind == "tagging" else "rows"
    parts = f" ({', '.join(f'{split} {len(rows):,}' for split, rows in splits.items())})" if len(splits) > 1 else ""
    return f"{', '.join(said)}, {len(dataset):,} {what}{parts}, {len(dataset.rejected):,} rejected"


def _quality(dataset: Dataset, nested: bool) -> list[str]:
    """Say what of the rows makes a score better or worse than it should be: duplicates, leaks, contradictions."""
    near = len(dataset) <= _NEAR_ROWS
    notes = [f"quality: {line}" for line in quality_lines(dataset, near)]
    if not near:
        notes.append(f"quality: near duplicates were not looked for among more than {_NEAR_ROWS:,} rows")
    grouped = any(split.groups is not None for split in dataset.splits.values())
    if nested and not grouped and any(REPEATED in note for note in notes):
        notes.append("quality: equal texts can be in training and test folds at once; group=COLUMN keeps rows together")
    trained = set(dataset.splits["train"].groups or ()) if "train" in dataset.splits else set()
    for name, split in dataset.splits.items():
        if name != "train" and (shared := len(trained & set(split.groups or ()))):
            notes.append(f"quality: {shared:,} group(s) of {name} are in train too, so that {name} is no test of new groups")
    return notes


def _evaluate_labels(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    scores = evaluate_classification(task, dataset, embeddings, settings)
    labels = next(iter(dataset.splits.values())).labels
    counts = np.bincount([] if labels is None else labels, minlength=len(dataset.label_names))
    rare = [label for label, count in zip(dataset.label_names, counts.tolist(), strict=True) if count < settings.folds]
    if task.protocol == "split" or not rare:
        return scores
    said = f"fewer rows than the {settings.folds} folds: {', '.join(rare[:8])}; some folds are without them"
    return replace(scores, notes=(*scores.notes, said))


def _evaluate_words(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Score pairs of words; unlike those of published sets they are not kept in the result."""
    scores = evaluate_word_pairs(task, dataset, embeddings, settings)
    items = {name: column for name, column in scores.items.items() if name not in ("first", "second")}
    return replace(scores, items=items, details={**scores.details, "unknown_words": []})


#: How a kind of task is evaluated, and the metrics that can be asked of it, the usual one first.
_KINDS: Final[Mapping[Kind, tuple[Callable[[Task, Dataset, Embeddings, Settings], Scores], tuple[str, ...]]]] = {
    "classification": (_evaluate_labels, ("acc", "f1")),
    "pair classification": (_evaluate_labels, ("acc", "f1")),
    "similarity": (evaluate_similarity, ("pearson", "spearman")),
    "word similarity": (_evaluate_words, ("spearman", "pearson", "kendall")),
    "tagging": (evaluate_tagging, ("f1", "precision", "recall")),
}
