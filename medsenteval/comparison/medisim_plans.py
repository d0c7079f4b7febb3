"""The tables of Schulz and Juric 2020 as plans: existing word sets (4, B), term sets (5, C), categories (6, D.1).

Tables B.2 to B.5 and C.4 to C.8 count of each row's measures how many of its others are significantly worse and better: by BCa
intervals of differences of correlations, by McNemar's test of accuracies, both with Bonferroni's correction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from medsenteval import registry
from medsenteval.comparison.common_pairs import common_pairs
from medsenteval.comparison.published.differences import Cell, Key, Reproduction, filled
from medsenteval.comparison.published.numbers import PublishedNumber
from medsenteval.contracts import Encoder, Result
from medsenteval.datasets.locate import locate
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.errors import MedSentEvalError
from medsenteval.running.result_store import ResultStore
from medsenteval.running.term_evaluation import ALPHA, EncoderSeparation, evaluate_sets, separate_encoders, task_for
from medsenteval.similarity import MEASURES
from medsenteval.statistics import bootstrap, correct_pairs, correlations
from medsenteval.support.grouping import grouped
from medsenteval.words.terms.category_overlap import read_categories, sampled
from medsenteval.words.terms.encoded_terms import PAPER_MEASURE
from medsenteval.words.terms.sets import SetName, is_synthetic, read_set, source_of

WORD_TABLES: Final = ("medisim-4", *(f"medisim-b.{number}" for number in range(1, 6)))
SET_TABLES: Final = ("medisim-5", *(f"medisim-c.{number}" for number in range(1, 9)))
CATEGORY_TABLES: Final = ("medisim-6", "medisim-d.1")
TABLES: Final = (*WORD_TABLES, *SET_TABLES, *CATEGORY_TABLES)

#: Printed names of measures that are not ours; those without a prefix are of encoders that give one vector a term.
_MEASURES: Final = {
    "fJ": "fuzzy_jaccard", "mJ": "max_jaccard", "cos": "avg_cos", "r": "avg_r", "rho": "avg_rho", "tau": "avg_tau",
}  # fmt: skip
#: Printed counts of a row's measures -> what ours are called.
_COUNTED: Final = {"measures_outperformed": "better", "measures_that_outperform": "worse"}
#: As many as the paper's code for BCa intervals takes.
_RESAMPLES: Final = 10_000
_SNOMED: Final = "SNOMED-CT"
#: What the paper calls the categories, in the order near, close, distant.
_CATEGORIES: Final = ("DP", "TP", "Org")
#: Found by comparing printed counts: on sets of single words the measures of means and of pairs of words are the same.
_SWAPPED: Final = (
    "the paper's avg_r and avg_rho are probably each other's: Tables B.2 to B.4 fit on single words only if swapped"
)
_OWN_PAIRS: Final = "published on the pairs that all 23 embeddings know, ours on those that all rows run here know"


def medisim_cell(number: PublishedNumber) -> Cell:
    """Say which task, options and metric a printed number corresponds to."""
    if number.table in WORD_TABLES:
        # Only whole terms count, under the measure that the paper chose for the row (B.1: that was best), or under all.
        options = {"multiword": "complete", "measure": _measure(number) if number.table == "medisim-4" else "best"}
        task = number.task
        if match := re.fullmatch(r"MiniMayoSRS-(avg|coders|physicians)", task):
            task = "MiniMayoSRS"
            options["raters"] = "mean" if match[1] == "avg" else match[1]
        swapped = number.table != "medisim-b.1" and number.setting in ("avg_r", "avg_rho")
        remark = f"{_OWN_PAIRS}; {_SWAPPED}" if swapped else _OWN_PAIRS
        return Cell(number, task, _COUNTED.get(number.metric, "spearman"), options, remark=remark)
    if number.table in SET_TABLES:
        # One of the 20 sets, which the user builds from SNOMED CT into the folder terms/ of the data folder.
        metric = {"accuracy": "acc", **_COUNTED}.get(number.metric, number.metric)
        return Cell(number, task_for(_set_name(number)).name, metric, remark=_OWN_PAIRS)
    remark = "which terms of a category the paper took it does not say; ours are all fully specified names, or --limit N"
    if number.metric.startswith("mean_sim"):
        remark += "; means within a category leave out a term's similarity to itself, of which the paper says nothing"
    return Cell(number, _SNOMED, number.metric, remark=remark)


def _measure(number: PublishedNumber) -> str:
    printed = number.setting.rpartition(", ")[2]
    return _MEASURES.get(printed, printed)


def _filled(cell: Cell, result: Result, n_pairs: int, source: str = "") -> Cell:
    """Add our score, or how many of the row's other measures one is better or worse than."""
    remark = f"{cell.remark}; ours built from {source}" if source else cell.remark
    made = f"{result.n_test:,} of {n_pairs:,} pairs"
    if cell.metric not in _COUNTED.values():
        return filled(replace(cell, made=f"{result.details['measure']}, {made}", remark=remark), result)
    measure, measures = _measure(cell.number), result.details["measures"]
    if measure not in measures:
        return replace(cell, missing=(f"{cell.specification} has no measure {measure}; it has {', '.join(measures)}",))
    remark = "; ".join([remark, *result.cautions])
    return replace(cell, made=made, remark=remark, ours=float(measures[measure][cell.metric]), n=result.n_test)


def share_pairs(plan: Reproduction, found: Mapping[Key, Result], failures: Sequence[str]) -> Reproduction:
    """Score word similarity results again on the pairs that all rows know, and compare each one's measures if they count."""
    groups = grouped(((key[1], tuple(option for option in key[2] if option[0] != "measure")), key) for key in found)
    made: dict[Key, Callable[[Cell], Cell]] = {}
    failed = list(failures)
    counted = any(cell.metric in _COUNTED.values() for cell in plan.cells)
    for (task, _), keys in groups.items():
        try:
            rescored = common_pairs([found[key] for key in keys], resamples=plan.settings.resamples)
            rescored = list(map(_with_counts, rescored)) if counted else rescored
        except MedSentEvalError as error:
            failed.append(f"{task}: {error}")
            continue
        for key, result in zip(keys, rescored, strict=True):
            made[key] = partial(_filled, result=result, n_pairs=result.details["pairs"])
    return plan.with_made(made, failed, any(found[key].synthetic for key in made))


def _with_counts(result: Result) -> Result:
    """Count of how many of a result's other measures each one is significantly better and worse."""
    measures = result.details["measures"]
    predicted, gold = np.array([result.items[name] for name in measures]), np.array(result.items["gold"], dtype=np.float64)
    drawn = bootstrap(correlations("spearman", predicted, gold), resamples=_RESAMPLES, rng=np.random.default_rng(result.seed))
    significant = correct_pairs(drawn.p_values("bca"), "bonferroni") < ALPHA
    better = significant & (drawn.observed[:, None] > drawn.observed)
    counts = zip(better.sum(axis=1).tolist(), better.sum(axis=0).tolist(), strict=True)
    counted = {name: {"better": more, "worse": less} for name, (more, less) in zip(measures, counts, strict=True)}
    return replace(result, details={**result.details, "measures": counted})


def run_sets(
    plan: Reproduction, root: Path, store: ResultStore | None, cache: EmbeddingCache | None, announce: Callable[[str], None]
) -> Reproduction:
    """Evaluate the term sets of a table as ``terms evaluate`` does, all rows together."""
    ready = [cell for cell in plan.cells if not cell.missing]
    encoders, failures = _load(ready)
    if not encoders:
        return replace(plan, failures=tuple(failures))
    folder = locate(task_for(_set_name(ready[0].number)), root)
    synthetic = is_synthetic(folder) or is_synthetic(root)
    source = source_of(folder) or "an unnamed source"
    counted = any(cell.metric in _COUNTED.values() for cell in ready)
    made: dict[Key, Callable[[Cell], Cell]] = {}
    for name in dict.fromkeys(_set_name(cell.number) for cell in ready):
        task = task_for(name).name
        term_set = read_set(folder, name)
        if term_set is None:
            reason = f"{folder} holds no file {name.file}; {task_for(name).obtain}"
            made |= dict.fromkeys((cell.key for cell in ready if cell.task == task), partial(replace, missing=(reason,)))
            continue
        try:
            [results] = evaluate_sets(
                [term_set], list(encoders.values()), plan.settings, measure=PAPER_MEASURE, all_measures=counted,
                synthetic=synthetic, source=source_of(folder), store=store, cache=cache, announce=announce,
            )  # fmt: skip
        except MedSentEvalError as error:
            failures.append(f"{task}: {error}")
            continue
        for specification, result in zip(encoders, results, strict=True):
            n_pairs = result.details["n_pairs"]
            made[specification, task, ()] = partial(_filled, result=result, n_pairs=n_pairs, source=source)
    return plan.with_made(made, failures, synthetic)


def _set_name(number: PublishedNumber) -> SetName:
    difficulty, strategy, _ = number.setting.split(", ")
    return SetName(number.task, difficulty, strategy)


def run_categories(
    plan: Reproduction, root: Path, cache: EmbeddingCache | None, announce: Callable[[str], None]
) -> Reproduction:
    """Separate diagnostic procedures, therapeutic procedures and organisms under every measure, as ``terms separate`` does."""
    encoders, failures = _load([cell for cell in plan.cells if not cell.missing])
    if not encoders:
        return replace(plan, failures=tuple(failures))
    try:
        folder = locate(registry.task(_SNOMED), root)
        found = read_categories(folder, None, (), ())
    except MedSentEvalError as error:
        return replace(plan, failures=(*failures, f"categories: {error}"))
    categories = sampled(found, plan.settings.limit, plan.settings.seed)
    made: dict[Key, Callable[[Cell], Cell]] = {}
    for specification, encoder in encoders.items():
        announce(f"{encoder.name}: separating {', '.join(f'{len(terms):,}' for terms in categories.values())} terms")
        try:
            rows = separate_encoders([encoder], categories, MEASURES, plan.settings, cache=cache)
        except MedSentEvalError as error:
            failures.append(f"{specification}: {error}")
            continue
        made[specification, _SNOMED, ()] = partial(_separated, rows=sorted(rows, key=lambda row: row.separation.overlap))
    return plan.with_made(made, failures, is_synthetic(folder) or is_synthetic(root))


def _separated(cell: Cell, rows: Sequence[EncoderSeparation]) -> Cell:
    """Take O, or a mean similarity, under our best or worst measure, which stand first and last."""
    what, _, which = cell.metric.rpartition("_")
    row = rows[0 if which == "best" else -1]
    means = row.separation.means
    # Three categories: the pairs of them stand first, then each alone.
    single = dict(zip(_CATEGORIES, list(means)[3:], strict=True))
    if match := re.fullmatch(r"mean_sim\((\w+)-(\w+)\)", what):
        one, other = (single[name] for name in match.groups())
        ours = means[one] if one == other else means[f"{one} / {other}"]
    else:
        ours = 100 * row.separation.overlap
    sizes = " x ".join(f"{size:,}" for size in row.separation.sizes)
    return replace(cell, ours=ours, made=f"{row.measure}, {sizes} terms")


def _load(cells: Sequence[Cell]) -> tuple[dict[str, Encoder], list[str]]:
    """Load the encoders of cells and say which failed; two of one name are told apart by their options."""
    loaded: dict[str, Encoder] = {}
    failures = []
    for specification in dict.fromkeys(cell.specification for cell in cells):
        try:
            encoder = registry.load_encoder(specification)
        except MedSentEvalError as error:
            failures.append(f"{specification}: {error}")
            continue
        if encoder.name in {other.name for other in loaded.values()}:
            encoder.name = specification
        loaded[specification] = encoder
    return loaded, failures
