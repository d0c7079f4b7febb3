"""A data set in words and numbers: splits, labels, lengths, examples, and what a constant answer scores."""

from __future__ import annotations

import numpy as np

from medsenteval.contracts import Dataset, Split
from medsenteval.datasets.quality import quality_lines
from medsenteval.support.text_table import text_table

_WIDEST = 100


def describe_dataset(dataset: Dataset, n_examples: int) -> str:
    parts = [f"{dataset.name}: {len(dataset):,} rows from {', '.join(dataset.files)}"]
    if dataset.synthetic:
        parts.append("SYNTHETIC SAMPLE DATA")
    if dataset.options:
        parts.append("options: " + ", ".join(f"{key}={value}" for key, value in dataset.options.items()))
    rows = [[name, f"{len(split):,}", *_lengths(split), *_majority(split)] for name, split in dataset.splits.items()]
    header = ["Split", "Rows", "Words, median", "95 %", "longest", "Distinct texts", "Majority or mean"]
    parts.append(text_table(header, rows, [False, True, True, True, True, True, False]))
    if dataset.label_names and all(split.labels is not None for split in dataset.splits.values()):
        counts = [
            [label, *(f"{int(np.sum(split.labels == number)):,}" for split in dataset.splits.values())]
            for number, label in enumerate(dataset.label_names)
        ]
        parts.append(text_table(["Label", *dataset.splits], counts, [False] + [True] * len(dataset.splits)))
    # A user's own rows were looked at when they were read, and say it in their notes.
    if not any(note.startswith("quality: ") for note in dataset.notes):
        parts.append("\n".join(quality_lines(dataset)))
    parts.append("\n".join(f"Note: {note}" for note in dataset.notes))
    for name, split in dataset.splits.items():
        if n_examples and len(split):
            chosen = np.linspace(0, len(split) - 1, min(n_examples, len(split))).astype(int).tolist()
            shown = [_example(split, row, dataset.label_names) for row in chosen]
            parts.append("\n".join([f"Examples of {name}:", *shown]))
    return "\n\n".join(filter(None, parts))


def _lengths(split: Split) -> list[str]:
    words = np.array([len(text.split()) for text in split.all_texts()] or [0])
    distinct = len(set(split.all_texts()))
    return [f"{np.median(words):.0f}", f"{np.quantile(words, 0.95):.0f}", f"{words.max():,}", f"{distinct:,}"]


def _majority(split: Split) -> list[str]:
    if split.labels is not None and len(split):
        return [f"{100 * np.bincount(split.labels).max() / len(split):.2f} % accuracy"]
    if split.scores is not None and len(split):
        return [f"mean {split.scores.mean():.3f}, {split.scores.min():g} to {split.scores.max():g}"]
    return [""]


def _example(split: Split, row: int, label_names: tuple[str, ...]) -> str:
    target = ""
    if split.labels is not None and label_names:
        target = f" [{label_names[int(split.labels[row])]}]"
    elif split.scores is not None:
        target = f" [{split.scores[row]:g}]"
    texts = [split.texts[row], *([split.texts2[row]] if split.texts2 is not None else [])]
    shown = " | ".join(text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..." for text in texts)
    return f"  {split.ids[row]}{target} {shown}"
