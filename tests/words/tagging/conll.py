"""conlleval's rules written down token by token, as an independent twin of the arrays in medsenteval.words.tagging."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from medsenteval.words.tagging.tag_schemes import as_iob


def conlleval_chunks(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """Return (first, last, type) of each chunk of one sentence, by startOfChunk and endOfChunk of the script."""
    chunks: set[tuple[int, int, str]] = set()
    begin = None
    before, kind_before = "O", ""
    for position, tag in enumerate([*tags, "O"]):
        prefix, _, kind = tag.partition("-")
        ends = (
            (before in ("B", "I") and prefix in ("B", "S", "O"))
            or before in ("E", "S")
            or (before != "O" and kind_before != kind)
        )
        starts = (
            prefix in ("B", "S")
            or (before in ("E", "S", "O") and prefix in ("E", "I"))
            or (prefix != "O" and kind_before != kind)
        )
        if ends and begin is not None:
            chunks.add((begin, position - 1, kind_before))
            begin = None
        if starts:
            begin = position
        before, kind_before = prefix, kind
    return chunks


def conlleval_counts(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> list[tuple[int, int, int]]:
    """Return (true positives, false positives, false negatives) of each sentence."""
    counts = []
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        right, answered = conlleval_chunks(gold_tags), conlleval_chunks(predicted_tags)
        counts.append((len(right & answered), len(answered - right), len(right - answered)))
    return counts


def in_scheme(numbers: np.ndarray, scheme: str, names: Sequence[str]) -> list[str]:
    """Write IOBES numbers in another scheme."""
    tags = [names[number] for number in (as_iob(numbers) if scheme in ("IOB1", "IOB2") else numbers)]
    if scheme == "BILOU":
        return [{"E": "L", "S": "U"}.get(tag[0], tag[0]) + tag[1:] for tag in tags]
    if scheme != "IOB1":
        return tags
    neighbours = [False, *(before[1:] == tag[1:] for before, tag in itertools.pairwise(tags))]
    return [tag if near or tag == "O" else "I" + tag[1:] for tag, near in zip(tags, neighbours, strict=True)]
