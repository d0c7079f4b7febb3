"""A cell of a published table with our number beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from medsenteval.comparison.published.numbers import PublishedNumber
from medsenteval.contracts import Result
from medsenteval.registry import name_key
from medsenteval.settings import Settings

#: What our number comes from: encoder, task and options.
Key = tuple[str, str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Cell:
    """One printed number, what would make ours, and what is missing for it; ``made`` says what stands behind our number."""

    number: PublishedNumber
    task: str
    metric: str
    options: Mapping[str, str] = field(default_factory=dict)
    relation: str = ""
    specification: str = ""
    missing: tuple[str, ...] = ()
    remark: str = ""
    ours: float | None = None
    tolerance: float | None = None
    n: int = 0
    made: str = ""

    @property
    def key(self) -> Key:
        return self.specification, self.task, tuple(sorted(self.options.items()))

    @property
    def difference(self) -> float | None:
        return None if self.ours is None else self.ours - self.number.value

    @property
    def within(self) -> bool | None:
        """Whether the difference is one that the number of items allows."""
        if self.difference is None or self.tolerance is None:
            return None
        return abs(self.difference) <= self.tolerance


@dataclass(frozen=True)
class Reproduction:
    table: str
    settings: Settings
    cells: tuple[Cell, ...]
    failures: tuple[str, ...] = ()
    synthetic: bool = False

    def with_made(self, made: Mapping[Key, Callable[[Cell], Cell]], failures: Sequence[str], synthetic: bool) -> Reproduction:
        """Return the table with our numbers, which ``made`` puts into the cells of each key."""
        cells = tuple(cell if cell.key not in made else made[cell.key](cell) for cell in self.cells)
        shown = any(cell.ours is not None for cell in cells)
        return replace(self, cells=cells, failures=tuple(failures), synthetic=synthetic and shown)


def filled(cell: Cell, result: Result) -> Cell:
    cell = replace(cell, remark="; ".join([*filter(None, [cell.remark]), *result.cautions]))
    printed, decimals = float(cell.number.printed), len(cell.number.printed.partition(".")[2])
    rounding = 0.5 * 10.0**-decimals * (cell.number.value / printed if printed else 1.0)
    if cell.relation:
        relations = result.senteval.get("relations", {})
        wanted = {name_key(cell.relation), name_key(cell.relation.partition(" ")[2])}
        # BMASS's files put the kind of relation before its name: "RO: has_tradename".
        spellings = {label: {name_key(label), name_key(label.rpartition(":")[2])} for label in relations}
        matching = [values for label, values in relations.items() if spellings[label] & wanted and cell.metric in values]
        if len(matching) != 1:
            return replace(cell, missing=(f"the relation {cell.relation} is not in our results",))
        return replace(cell, ours=float(matching[0][cell.metric]))
    metric = next((metric for metric in result.metrics if metric.name == cell.metric), None)
    if metric is None:
        return replace(cell, missing=(f"{cell.task} has no metric {cell.metric}",))
    scale = 100.0 if metric.unit == "percent" and cell.number.unit == "fraction" else 1.0
    tolerance = None if result.synthetic else (metric.high - metric.low) / 2 / scale + abs(rounding)
    return replace(cell, ours=metric.value / scale, tolerance=tolerance, n=metric.n)
