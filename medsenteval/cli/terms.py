"""``medsenteval terms build | evaluate | link | separate | sheet | score-sheet``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from medsenteval import registry
from medsenteval.cli.shared import PATH, SEED, announcer, echo, names_in, one_source
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.errors import DataMissingError, SettingsError
from medsenteval.report import term_tables
from medsenteval.running.result_store import ResultStore
from medsenteval.running.score_table import detail_table
from medsenteval.running.suite import Suite
from medsenteval.running.term_evaluation import evaluate_sets, separate_encoders
from medsenteval.settings import Settings
from medsenteval.similarity import MEASURES
from medsenteval.support.text_table import text_table
from medsenteval.tasks.concepts.ontology_synonyms import task_of_source
from medsenteval.words.ontologies.obo import read_obo
from medsenteval.words.ontologies.rf2 import read_release
from medsenteval.words.ontologies.umls import find_umls_file, read_mrconso
from medsenteval.words.terms.annotation import score_sheets, write_sheet
from medsenteval.words.terms.category_overlap import read_categories, sampled
from medsenteval.words.terms.positives import Positives, positives_from_obo, positives_from_snomed, positives_from_umls
from medsenteval.words.terms.sets import STRATEGIES, SetName, build_sets, is_synthetic, read_sets, set_names, source_of

_ENCODERS = click.option(
    "-e", "--encoder", "encoders", multiple=True, required=True, metavar="SPEC", help="An encoder; repeat for several."
)
_FOLDER = click.argument("folder", type=PATH)
_SETS = click.option("-s", "--sets", metavar="WORDS", help="Only sets with all these words in their name: hard,levenshtein")
_OUTPUT = click.option("-o", "--output", type=PATH, default=Path("results"), metavar="FOLDER",
                       help="Where results are stored; default results.")  # fmt: skip
_NO_CACHE = click.option("--no-cache", is_flag=True, help="Neither read nor write the embedding cache.")


@click.group()
def terms() -> None:
    """Medical terms of SNOMED CT, OBO ontologies or UMLS: build pairs, evaluate, link names to concepts, annotate."""


@terms.command()
@click.option("--snomed", type=PATH, metavar="DIR", help="A SNOMED CT release in RF2, Full or Snapshot.")
@click.option("--obo", type=PATH, metavar="FILE", help="An ontology in OBO format.")
@click.option("--umls", type=PATH, metavar="DIR", help="A UMLS release, or its MRCONSO.RRF.")
@click.option("--release", type=click.Choice(["Full", "Snapshot"]), help="Which form of a SNOMED CT release; default Full.")
@click.option("--language", metavar="CODE", help="Language: en for SNOMED CT, ENG for UMLS by default.")
@click.option("--sources", metavar="SAB,...", help="Only names of these UMLS sources.")
@click.option("--legacy", is_flag=True, help="Reproduce the reference code's pairs, defects included.")
@click.option("-o", "--output", required=True, type=PATH, metavar="OUT", help="Where the sets are written.")
@click.option("--quiet", is_flag=True, help="No progress: the table only.")
def build(
    snomed: Path | None,
    obo: Path | None,
    umls: Path | None,
    legacy: bool,
    output: Path,
    quiet: bool,
    **reading: str | None,
) -> None:
    """Build the 20 data sets; run again after an interruption to go on."""
    kind, place = one_source(snomed=snomed, obo=obo, umls=umls)
    for name in {"snomed": ("sources",), "obo": ("release", "language", "sources"), "umls": ("release",)}[kind]:
        if reading[name]:
            raise SettingsError(f"--{name} is {reading[name]!r}, which says nothing of --{kind}; leave it out")
    announce = announcer(quiet)
    positives, notice = _positives(kind, place, legacy, **reading)
    announce(f"{positives.source}: {len(positives.rejected):,} concept(s) or term(s) left out")
    statistics = build_sets(positives, output, notice=notice, legacy=legacy, announce=announce, progress=not quiet)
    echo(_statistics_table(statistics))
    echo(f"\nWritten to {output}. {notice}")


def _positives(
    kind: str, place: Path, legacy: bool, release: str | None, language: str | None, sources: str | None
) -> tuple[Positives, str]:
    """Read the source and return its similar pairs with what its licence asks for."""
    if kind == "snomed":
        read = read_release(place, form=release or "", language=language or "en")
        return positives_from_snomed(read, legacy=legacy), (
            "SNOMED CT content: for licence holders only. SNOMED International forbids publishing data derived from it; do not "
            "pass these files on."
        )
    if kind == "obo":
        licence = "Names and synonyms are the ontology's; its licence applies to these files."
        return positives_from_obo(read_obo(place)), licence
    path = find_umls_file(place, "MRCONSO")
    chosen = frozenset(names_in(sources))
    named = f"UMLS {path}{' sources ' + ', '.join(sorted(chosen)) if chosen else ''}"
    return positives_from_umls(read_mrconso(path, language=language or "ENG", sources=chosen), named), (
        "UMLS content: for licence holders only; do not pass these files on."
    )


def _statistics_table(statistics: dict[str, Any]) -> str:
    rows = []
    for row in statistics["sets"]:
        size = row["positive"]["n"] + max((row[strategy]["n"] for strategy in STRATEGIES if strategy in row), default=0)
        means = [f"{row[column]['mean']:.2f}" if column in row else "-" for column in ("positive", "random", "levenshtein")]
        rows.append([row["kind"], row["difficulty"], f"{size:,}", *means])
    header = ["Set", "", "Pairs", "Positive", "Random", "Levenshtein"]
    table = text_table(header, rows, [False, False, *[True] * 4])
    lines = [table, "Mean Levenshtein distance, ignoring case, of similar pairs and of dissimilar pairs of each strategy."]
    lines.append(f"{statistics['terms']:,} terms, {statistics['multiword_terms']:.0%} of several words.")
    lines += [f"{name}: {count:,} term(s) found no partner" for name, count in statistics["unpaired"].items()]
    return "\n".join(lines)


def _chosen_sets(words: str | None) -> list[SetName]:
    wanted = [word.casefold() for word in names_in(words)]
    chosen = [name for name in set_names() if all(word in str(name).casefold() for word in wanted)]
    if not chosen:
        raise SettingsError(f"no set has all of {words!r} in its name; names are like {set_names()[0]}, {set_names()[-1]}")
    return chosen


@terms.command()
@_FOLDER
@_ENCODERS
@_SETS
@click.option("--measure", default="paper", metavar="NAME",
              help="A similarity measure; default paper: fuzzy_jaccard for word vectors, avg_tau for others.")  # fmt: skip
@click.option("--all-measures", is_flag=True, help="Compute every measure and compare them too.")
@click.option("--limit", type=int, metavar="N", help="Use N pairs of each set only, to try things out.")
@_OUTPUT
@_NO_CACHE
@click.option("--quiet", is_flag=True, help="No progress: tables only.")
def evaluate(
    folder: Path,
    encoders: tuple[str, ...],
    sets: str | None,
    measure: str,
    all_measures: bool,
    limit: int | None,
    output: Path,
    no_cache: bool,
    quiet: bool,
) -> None:
    """Score encoders on the sets in FOLDER, on the pairs that all of them know, and compare them."""
    found = read_sets(folder, _chosen_sets(sets))
    by_set = evaluate_sets(
        found,
        [registry.load_encoder(spec) for spec in encoders],
        Settings(limit=limit),
        measure=measure,
        all_measures=all_measures,
        synthetic=is_synthetic(folder),
        source=source_of(folder),
        store=ResultStore(output),
        cache=None if no_cache else EmbeddingCache(),
        progress=not quiet,
        announce=announcer(quiet),
    )
    results = [result for of_set in by_set for result in of_set]
    echo(term_tables.outcome_table(results))
    if all_measures:
        echo()
        echo(term_tables.measure_table(results))
    echo(f"\n{len(results)} result(s) stored in {output}")


@terms.command()
@_ENCODERS
@click.option("--snomed", type=PATH, metavar="DIR", help="Link the names of this SNOMED CT release.")
@click.option("--obo", type=PATH, metavar="FILE", help="Link the names of this ontology in OBO format.")
@click.option("--umls", type=PATH, metavar="DIR", help="Link the names of this UMLS release.")
@click.option("--synonyms", type=click.Choice(["exact", "exact+related"]), default="exact", show_default=True,
              help="Which synonyms are names and queries.")  # fmt: skip
@click.option("--dictionary", type=click.Choice(["all", "preferred"]), default="all", show_default=True,
              help="Find a synonym among all other names, or among preferred names only.")  # fmt: skip
@click.option("--wording", type=click.Choice(["all", "lay", "professional"]), default="all", show_default=True,
              help="Ask for these synonyms only, where the ontology tells them apart.")  # fmt: skip
@click.option("--frequencies", type=PATH, metavar="FILE",
              help="Identifiers and counts, by tabs: rare and frequent concepts are scored apart.")  # fmt: skip
@click.option("--limit", type=int, metavar="N", help="Use N queries only, to try things out.")
@_OUTPUT
@_NO_CACHE
def link(
    encoders: tuple[str, ...],
    snomed: Path | None,
    obo: Path | None,
    umls: Path | None,
    frequencies: Path | None,
    limit: int | None,
    output: Path,
    no_cache: bool,
    **options: str,
) -> None:
    """Link names to concepts: is the name nearest to a synonym one of the same concept?

    Each synonym is left out of the dictionary in turn. `medsenteval run -t concepts` does the same from the data folder.
    """
    kind, place = one_source(snomed=snomed, obo=obo, umls=umls)
    task = task_of_source(kind, place, frequencies)
    suite = Suite(
        encoders,
        [task],
        Settings(limit=limit, task_options={task.name: options}),
        data=place if place.is_dir() else place.parent,
        store=ResultStore(output),
        cache=None if no_cache else EmbeddingCache(),
        announce=announcer(quiet=False),
    )
    outcome = suite.run()
    for error in outcome.failed.values():
        raise error
    if outcome.skipped:
        raise DataMissingError(outcome.skipped[task.name])
    echo(detail_table(outcome.results))
    echo(f"\n{term_tables.strata_table(outcome.results)}")
    for note in dict.fromkeys(note for result in outcome.results for note in result.notes):
        echo(f"Note: {note}")
    echo(f"\n{len(outcome.results)} result(s) stored in {output}")


@terms.command()
@_ENCODERS
@click.option("--snomed", type=PATH, metavar="DIR", help="Categories are descendants of concepts of this SNOMED CT release.")
@click.option("--obo", type=PATH, metavar="FILE", help="Categories are branches of this ontology.")
@click.option("-c", "--category", "roots", multiple=True, metavar="ID",
              help="Root of a category, three times: near, close, distant. Default for SNOMED CT: diagnostic procedure, "
                   "therapeutic procedure, organism.")  # fmt: skip
@click.option(
    "--list", "lists", multiple=True, type=PATH, metavar="FILE", help="A category as a text file, a term a line; three times."
)
@click.option("--sample", type=int, metavar="N", help="At most N terms of each category.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the sample.")
@click.option("--measure", "measures", multiple=True, metavar="NAME",
              help="A measure; repeat for several: each encoder is scored under those that fit it. paper: fuzzy_jaccard for "
                   "word vectors, avg_tau for others. Default avg_cos.")  # fmt: skip
@click.option("--all-measures", is_flag=True, help="Compute every measure that fits an encoder.")
@_NO_CACHE
def separate(
    encoders: tuple[str, ...],
    sample: int | None,
    seed: int,
    measures: tuple[str, ...],
    all_measures: bool,
    no_cache: bool,
    **source: Any,
) -> None:
    """Measure how far encoders keep a distant category apart from two close ones (relative overlap, lower is better)."""
    found = sampled(read_categories(**source), sample, seed)
    for name, members in found.items():
        echo(f"{name}: {len(members):,} terms", err=True)
    rows = separate_encoders(
        [registry.load_encoder(spec) for spec in encoders],
        found,
        MEASURES if all_measures else measures or ("avg_cos",),
        Settings(),
        cache=None if no_cache else EmbeddingCache(),
    )
    echo(term_tables.separation_table(rows, list(found)))


@terms.command()
@_FOLDER
@_SETS
@click.option("-o", "--output", required=True, type=PATH, metavar="FILE", help="The sheet, .xlsx.")
@click.option("--pairs", type=click.IntRange(min=1), default=30, show_default=True, help="Pairs of each label and set.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the sample.")
def sheet(folder: Path, sets: str | None, output: Path, pairs: int, seed: int) -> None:
    """Sample pairs of the sets in FOLDER into a sheet for annotators."""
    key = write_sheet(read_sets(folder, _chosen_sets(sets)), output, per_label=pairs, seed=seed)
    echo(f"{output}: give a copy to each annotator; keep {key} to yourself, it holds the labels")


@terms.command(name="score-sheet")
@click.argument("key", type=PATH)
@click.argument("sheets", nargs=-1, required=True, type=PATH)
def score_sheet(key: Path, sheets: tuple[Path, ...]) -> None:
    """Score the automatic labels of KEY against the annotators' SHEETS, like the paper's Table 3."""
    echo(term_tables.sheet_table(score_sheets(key, sheets)))
