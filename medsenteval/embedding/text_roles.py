"""Which text an encoder gets in which role: as a query, as a document, or as neither."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from medsenteval.contracts import Dataset, Encoder, Task

__all__ = ["TextsInRole", "texts_in_roles"]


@dataclass(frozen=True, eq=False)
class TextsInRole:
    """Texts of a data set that one encoder encodes in the same way; ``role`` is "", "query" or "document"."""

    encoder: Encoder
    role: str
    texts: list[str]


def texts_in_roles(task: Task, dataset: Dataset, encoder: Encoder) -> list[TextsInRole]:
    """Return all texts as one part, or first and second texts as two where the encoder treats their roles differently."""
    choose: Callable[[str, str], Encoder] | None = getattr(encoder, "for_use", None)
    if choose is None:
        return [TextsInRole(encoder, "", list(dataset.all_texts()))]
    first, second = (choose(task.name, role) for role in task.roles)
    if task.roles[0] == task.roles[1] or first is second or (first.identity and first.identity == second.identity):
        return [TextsInRole(first, task.roles[0], list(dataset.all_texts()))]
    splits = dataset.splits.values()
    return [
        TextsInRole(first, task.roles[0], [text for split in splits for text in split.texts]),
        TextsInRole(second, task.roles[1], [text for split in splits for text in split.texts2 or ()]),
    ]
