"""A published table as a runnable plan: encoder recipes by tasks under the paper's protocol, ours beside the printed numbers.

The tolerance of a cell is what its items allow: half the 95 % interval of our score, plus half a unit of the last printed
digit. A difference within it proves no agreement, only that so many items cannot tell the two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache as cache_calls
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from medsenteval import registry
from medsenteval.comparison import medisim_plans as medisim
from medsenteval.comparison.published.differences import Cell, Key, Reproduction, filled
from medsenteval.comparison.published.numbers import PublishedNumber, published_numbers
from medsenteval.contracts import Result, Task
from medsenteval.datasets.locate import data_root, locate
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.encoders.recipes import recipes
from medsenteval.errors import DataMissingError, MedSentEvalError, SettingsError, UnknownNameError
from medsenteval.running.result_store import ResultStore
from medsenteval.running.suite import Suite
from medsenteval.running.term_evaluation import task_for
from medsenteval.settings import Settings
from medsenteval.words.terms.sets import set_names

#: Table -> (CSV file of its recipes' rows, how the paper trained probes).
TABLES: Final[dict[str, tuple[str, Settings]]] = {
    "medsenteval-3": ("medsenteval_table3", Settings(probe="senteval")),
    **{f"biosim-{number}": ("biosim_tables", Settings()) for number in (5, 6, 7, 8, 9)},
    **{f"bmass-{number}": ("bmass_tables", Settings()) for number in (3, 4, 5)},
    **{table: ("medisim_tables", Settings()) for table in medisim.TABLES},
}
#: Tables of correlations between two kinds of column of another table, over its models; that under Table 9 was not printed.
DERIVED: Final = {"biosim-6": "biosim-5", "biosim-8": "biosim-7", "biosim-9": "biosim-9-scores"}
#: Columns of BMASS's Table 3 -> the terms and candidates that make them; Uni_M ranks phrases where Uni ranks words.
_UNIGRAMS: Final = {"Uni": ("unigrams", "vocabulary"), "Uni_M": ("unigrams", "file"), "MWE": ("all", "file")}


def plan_table(
    table: str, data: str | Path | None = None, stand_ins: Mapping[str, str] | None = None, **changes: Any
) -> Reproduction:
    """Return every cell of a published table with what it needs; ``stand_ins`` maps printed rows to encoders of the user's."""
    name = table.casefold()
    if name not in TABLES:
        raise UnknownNameError(f"no plan for the table {table!r}; there are {', '.join(TABLES)}")
    source = DERIVED.get(name, name)
    numbers = _source_numbers(source)
    rows = dict.fromkeys(number.encoder for number in numbers)
    for row in stand_ins or {}:
        if row not in rows:
            raise SettingsError(f"{table} has no row {row!r}; it has {', '.join(rows)}")
    root = data_root(data)
    weights = {row: _weights(TABLES[name][0], source, row, stand_ins or {}) for row in rows}

    @cache_calls  # a table has hundreds of cells and a dozen tasks
    def missing_data(task: str) -> tuple[str, ...]:
        try:
            locate(_find_task(task), root)
        except DataMissingError as error:
            return (f"data of {error}",)
        return ()

    cells = []
    for cell in map(_cell, numbers):
        specification, missing_weights, doubt = weights[cell.number.encoder]
        remark = "; ".join(filter(None, (cell.remark, doubt, cell.number.differs)))
        missing = (*(cell.missing or missing_data(cell.task)), *missing_weights)
        cells.append(replace(cell, specification=specification, missing=missing, remark=remark))
    return Reproduction(name, TABLES[name][1].with_changes(**changes), tuple(cells))


def run_plan(
    plan: Reproduction,
    data: str | Path | None = None,
    *,
    store: ResultStore | None = None,
    cache: EmbeddingCache | None = None,
    announce: Callable[[str], None] = lambda message: None,
) -> Reproduction:
    """Run what can be run and return the plan with our numbers; for a table of correlations, those computed from them."""
    root = data_root(data)
    if plan.table in medisim.SET_TABLES:
        return medisim.run_sets(plan, root, store, cache, announce)
    if plan.table in medisim.CATEGORY_TABLES:
        return medisim.run_categories(plan, root, cache, announce)
    found: dict[Key, Result] = {}
    failures: list[str] = []
    for key in dict.fromkeys(cell.key for cell in plan.cells if not cell.missing):
        specification, task, options = key
        settings = plan.settings.with_changes(task_options={task: dict(options)})
        try:
            suite = Suite([specification], [_find_task(task)], settings, data=data, store=store, cache=cache, announce=announce)
            outcome = suite.run()
        except MedSentEvalError as error:
            # A recipe whose weights are broken or cannot be fetched must not take the other rows with it.
            failures.append(f"{specification}: {error}")
            continue
        failures += [f"{specification}, {task}: {error}" for error in outcome.failed.values()]
        found.update((key, result) for result in outcome.results)
    if plan.table in medisim.WORD_TABLES:
        return medisim.share_pairs(plan, found, failures)
    made = {key: partial(filled, result=result) for key, result in found.items()}
    done = plan.with_made(made, failures, any(result.synthetic for result in found.values()))
    return replace(done, cells=tuple(_correlations(plan.table, done.cells))) if plan.table in DERIVED else done


def _source_numbers(table: str) -> list[PublishedNumber]:
    """Return the numbers that a plan makes anew; of the scores behind Bio-SimVerb's Table 9 only the names are known."""
    if table != DERIVED["biosim-9"]:
        return [number for number in published_numbers() if number.table == table]
    printed = [number for number in published_numbers() if number.table == "biosim-9"]
    unknown = replace(printed[0], table=table, value=np.nan, printed="nan")
    intrinsic = replace(unknown, metric="spearman", unit="fraction", protocol="cosine")
    extrinsic = replace(unknown, metric="f1", unit="percent", protocol="ner")
    columns = {number.encoder: intrinsic for number in printed} | {number.task: extrinsic for number in printed}
    entries = [entry for recipe in recipes().values() for entry in recipe.rows]
    rows = [entry.row for entry in entries if (entry.file, entry.table) == ("biosim_tables", "9")]
    return [replace(column, encoder=row, task=task) for row in rows for task, column in columns.items()]


def _weights(file: str, table: str, row: str, stand_ins: Mapping[str, str]) -> tuple[str, tuple[str, ...], str]:
    """Return the encoder for a printed row, what is missing, and how it may differ."""
    if row in stand_ins:
        return stand_ins[row], (), f"{stand_ins[row]} stands in for {row}"
    printed = row.removeprefix("window ")
    number = table.split("-")[1]
    # Of two recipes for a row, weights that the user has put in place come before those that are fetched.
    for recipe in sorted(recipes().values(), key=lambda each: each.automatic or not each.present):
        for entry in recipe.rows:
            if entry.file == file and entry.row == printed and entry.table in ("", number):
                specification = ",".join([recipe.name, *(f"{key}={value}" for key, value in entry.options.items())])
                missing = () if recipe.present else (f"weights of {recipe.name}: {recipe.obtain or recipe.source}",)
                return specification, missing, entry.doubt
    return "", (f"no recipe for the row {row!r}",), ""


@cache_calls
def _find_task(name: str) -> Task:
    sets = {term_set.name: term_set for term_set in map(task_for, set_names())}
    return sets.get(name) or registry.task(name)


def _cell(number: PublishedNumber) -> Cell:
    """Say which of our tasks, options and metrics a printed number corresponds to."""
    paper = number.table.split("-")[0]
    if paper == "medisim":
        return medisim.medisim_cell(number)
    task, metric, options, relation, remark = number.task, number.metric, {}, "", ""
    if paper == "biosim":
        task = {"SimLex": "SimLex-999", "SimVerb": "SimVerb-3500"}.get(task, task)
        options = {"multiword": "skip"} if metric == "spearman" else {"preset": "paper"} if metric == "f1" else {}
    elif paper == "bmass":
        task, metric = "BMASS", {"Acc_R": "acc", "MAP": "map", "MRR": "mrr"}.get(metric, metric)
        # As the authors ran it: b among All-Info's candidates, Single-Answer's unanswerable questions wrong. Their words are of
        # unit length before the mean, which recipes say of their rows.
        options = {"setting": number.setting.casefold()}
        remark = "published with words of unit length before the mean (vectors: pooling=unit-mean)"
        if number.setting in _UNIGRAMS:
            terms, candidates = _UNIGRAMS[number.setting]
            options = {"terms": terms, "candidates": candidates, "setting": "all-info"}
            remark += "; the paper does not say in which setting, All-Info is the one whose 606 unigram analogies it counts"
        elif number.setting == "All-Info":
            options["legacy_exclusion"] = "yes"
        elif number.setting == "Single-Answer":
            options["legacy_unanswerable"] = "yes"
        relation = "" if number.task.startswith("mean over") else number.task
    return Cell(number, _find_task(task).name, metric, options, relation, remark=remark)


def _correlations(table: str, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of a table of correlations between intrinsic sets and NER corpora, over the models that have both."""
    ours = {(cell.number.task, cell.number.encoder): cell.ours for cell in cells if cell.ours is not None}
    derived = []
    for number in (each for each in published_numbers() if each.table == table):
        x, y = number.encoder, number.task
        common = [(value, ours[y, model]) for (task, model), value in ours.items() if task == x and (y, model) in ours]
        cell = Cell(number, y, number.metric, remark=f"over {len(common)} models")
        if len(common) >= 3:
            first, second = map(list, zip(*common, strict=True))
            derived.append(replace(cell, ours=float(np.corrcoef(first, second)[0, 1])))
        else:
            why = f"needs three models with {x} and {y}, there are {len(common)}"
            derived.append(replace(cell, remark="", missing=(why,)))
    return derived
