"""Do intrinsic scores predict extrinsic ones? Correlations over encoders between columns of stored or published scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean

from medsenteval.comparison.published.numbers import select_numbers
from medsenteval.comparison.significance import NOISE_DECIMALS
from medsenteval.contracts import Result
from medsenteval.errors import DataError, UnknownNameError
from medsenteval.registry import same_names
from medsenteval.running.job_identity import comparability, one_for_each_job
from medsenteval.statistics import Association, Correlation, associate
from medsenteval.support.tables import BLANK, read_table
from medsenteval.tasks.reading.row_acceptance import finite_number


@dataclass(frozen=True)
class Columns:
    """``values[column][encoder]`` is a score; ``shown`` are the columns to use where none are named."""

    values: dict[str, dict[str, float]]
    shown: tuple[str, ...] = ()
    synthetic: bool = False

    def column(self, name: str) -> dict[str, float]:
        for known in same_names(name, self.values):
            return self.values[known]
        raise UnknownNameError(f"no column is called {name!r}; there are: {', '.join(self.values)}")


def columns_of_results(results: Iterable[Result]) -> Columns:
    """Return a column for every metric of every task (``AnatEM.f1``), and one a task for its headline metric (``AnatEM``).

    Several seeds of one encoder become their mean; encoders of one name get a number each.
    """
    collected: dict[str, dict[str, list[float]]] = {}
    ways: dict[str, tuple[str, str]] = {}
    settled, _ = one_for_each_job(list(results))
    for result in settled:
        encoder, way = ways.setdefault(result.task, (result.encoder, comparability(result)))
        if way != comparability(result):
            both = f"{way} ({encoder}) and {comparability(result)} ({result.encoder})"
            raise DataError(f"{result.task}: scores that do not compare, {both}; keep those of one kind")
        for metric in result.metrics:
            plain = [result.task] if metric.name == result.headline[0] else []
            for name in (f"{result.task}.{metric.name}", *plain):
                collected.setdefault(name, {}).setdefault(result.encoder, []).append(metric.value)
    if not collected:
        raise DataError("no results found; name a folder that `medsenteval run` wrote")
    means = {name: {encoder: fmean(scores) for encoder, scores in column.items()} for name, column in collected.items()}
    return Columns(means, tuple(ways), any(result.synthetic for result in settled))


def published_columns(table: str) -> Columns:
    """Return the columns of a published table (``biosim-5``)."""
    numbers = select_numbers(table=table)
    if len(tables := dict.fromkeys(number.table for number in numbers)) > 1:
        raise DataError(f"{table!r} is no single table; name one of {', '.join(tables)}")
    values: dict[str, dict[str, float]] = {}
    for number in numbers:
        qualified = f"{number.task}.{number.metric}"
        if number.encoder in values.get(qualified, ()):
            raise DataError(f"{table} has several numbers of {number.encoder} for {qualified}, which make no column")
        for column in (number.task, qualified):
            # The first of several metrics is the column of the plain name.
            values.setdefault(column, {}).setdefault(number.encoder, number.value)
    return Columns(values, tuple(column for column in values if "." not in column))


def columns_of_table(path: Path) -> Columns:
    """Return the columns of a table: encoders in the first one, a column of scores under each other heading."""
    table = read_table(path)
    values: dict[str, dict[str, float]] = {name: {} for name in table.columns[1:]}
    for number, cells in table.pick(table.columns):
        if isinstance(cells, str):
            if cells != BLANK:
                raise DataError(f"{path}:{number}: {cells}")
            continue
        for name, cell in zip(table.columns[1:], cells[1:], strict=True):
            encoder = str(cells[0])
            if cell is None:
                continue
            if cells[0] is None:
                raise DataError(f"{path}:{number}: a score under {name!r} without the name of its encoder")
            if encoder in values[name]:
                raise DataError(f"{path}:{number}: {encoder!r} is there twice")
            if (value := finite_number(str(cell))) is None:
                said = f"{cell!r} under {name!r} is no finite number; leave the cell empty if there is none"
                raise DataError(f"{path}:{number}: {said}")
            values[name][encoder] = value
    return Columns(values, tuple(values))


@dataclass(frozen=True, eq=False)
class Cell:
    """The correlation of two columns over the encoders that have both, in the order of ``association.leave_one_out``."""

    first: str
    second: str
    encoders: tuple[str, ...]
    association: Association


def correlate_columns(
    columns: Columns, first: Sequence[str], second: Sequence[str], kind: Correlation = "pearson"
) -> list[Cell]:  # fmt: skip
    cells = []
    for one, other in product(first, second):
        left, right = columns.column(one), columns.column(other)
        if left is right:
            continue
        encoders = tuple(encoder for encoder in left if encoder in right)
        if len(encoders) < 3:
            listed = ", ".join(encoders) or "none"
            raise DataError(f"{one} and {other} have {len(encoders)} encoder(s) in common ({listed}); at least 3 are needed")
        x, y = ([column[encoder] for encoder in encoders] for column in (left, right))
        if kind == "spearman":
            # One model through two loaders differs by rounding: that is a tie, and no order.
            x, y = ([round(score, NOISE_DECIMALS) for score in side] for side in (x, y))
        cells.append(Cell(one, other, encoders, associate(x, y, kind)))
    return cells
