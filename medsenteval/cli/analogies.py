"""``medsenteval analogies generate | figures | errors``: make analogies, draw what they scored, say what was answered wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from medsenteval import registry
from medsenteval.cli.shared import DATA, PATH, SEED, echo, one_source, settled
from medsenteval.datasets.locate import data_root, load_dataset
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.embedding.embed import embed_texts
from medsenteval.errors import DataMissingError, SettingsError
from medsenteval.report.charts.figure_files import write_drawing
from medsenteval.report.sections.relations import compared_bars, metric_bars
from medsenteval.running.result_store import ResultStore
from medsenteval.running.score_table import SYNTHETIC_WARNING
from medsenteval.settings import Settings
from medsenteval.support.atomic_files import file_name_of
from medsenteval.support.text_table import text_table
from medsenteval.tasks.analogy.analogy_errors import KINDS, count_errors
from medsenteval.tasks.analogy.analogy_sets import AnalogyDataset
from medsenteval.words.analogies import sources
from medsenteval.words.analogies.generation import generate as generate_analogies
from medsenteval.words.analogies.generation import write_bmass


@click.group()
def analogies() -> None:
    """Make analogies from relations of your own, and draw results as the paper does."""


@analogies.command()
@click.option("--table", type=PATH, metavar="FILE", help="A table with the columns subject, relation and object.")
@click.option("--obo", type=PATH, metavar="FILE", help="An ontology in OBO format.")
@click.option("--umls", type=PATH, metavar="FOLDER", help="UMLS with MRCONSO.RRF and MRREL.RRF.")
@click.option("--relation", "relations", multiple=True, metavar="NAME", help="Only this relation of the ontology; repeatable.")
@click.option("--frequencies", type=PATH, metavar="FILE", help="'term TAB count' a line.")
@click.option("--frequency-floor", type=float, default=25, show_default=True, help="How often a term must occur.")
@click.option("--one-to-one", type=int, default=50, show_default=True, help="1:1 instances that a relation needs.")
@click.option("--pairs", type=int, default=50, show_default=True, help="Pairs sampled from each relation.")
@click.option("--seed", type=SEED, default=1111, show_default=True)
@click.option("-o", "--output", type=PATH, required=True, metavar="FOLDER",
              help="Where BMASS/ is written; name it as --data of a run.")  # fmt: skip
def generate(
    table: Path | None,
    obo: Path | None,
    umls: Path | None,
    relations: tuple[str, ...],
    frequencies: Path | None,
    output: Path,
    **construction: Any,
) -> None:
    """Make analogies as BMASS was made: 1:1 threshold, sampled pairs, frequency floor, every two pairs combined."""
    kind, place = one_source(table=table, obo=obo, umls=umls)
    if relations and kind != "obo":
        raise click.UsageError("--relation chooses among the relations of an ontology and needs --obo")
    counts = None if frequencies is None else sources.read_frequencies(frequencies)
    if kind == "obo":
        source = sources.read_obo_facts(place, relations)
    else:
        source = sources.read_relation_table(place) if kind == "table" else sources.read_umls_facts(place)
    generated = generate_analogies(*source, counts, **construction)
    written = write_bmass(generated, output / "BMASS")
    rows = []
    for each in generated.summaries:
        counts_shown = [f"{count:,}" for count in (each.facts, each.subjects, each.one_to_one)]
        rows.append([each.relation, *counts_shown, f"{each.ambiguity:.1f}" if each.kept else "", "yes" if each.kept else "no"])
    header = ["Relation", "Facts", "Subjects", "1:1", "Answers", "Kept"]
    echo(text_table(header, rows, [False, True, True, True, True, False]))
    echo(
        f"\n{generated.n_analogies:,} analogies of {len(generated.pairs)} relation(s) and {len(generated.candidates):,} "
        f"candidates written to {written[0].parent}"
    )
    if counts is None:
        echo("Note: without --frequencies rare terms are in it, of which an encoder may know nothing")
    echo("The paper's authors then kept only relations that a pair says something about; summary.tsv is for that")
    echo(f"Score it with: medsenteval run -t BMASS -d {output} --allow-incomplete -e ENCODER")


@analogies.command()
@click.option("-e", "--encoder", required=True, metavar="SPEC", help="The encoder, as in `medsenteval run`.")
@click.option("-t", "--task", default="BMASS", show_default=True, help="The analogy task.")
@DATA
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="An option of the task: setting=all-info")
@click.option("--allow-incomplete", is_flag=True, help="Take a data set that is not the published one.")
def errors(encoder: str, task: str, data: str | None, options: tuple[str, ...], allow_incomplete: bool) -> None:
    """Count what wrong answers are: of the same relation, of the same type, spelt alike (the paper's section 5.6)."""
    found = registry.task(task)
    if found.family != "analogy":
        raise SettingsError(f"{found.name} is no task of analogies")
    chosen: dict[str, str] = {}
    for name, _, value in (option.partition("=") for option in options):
        if chosen.setdefault(name, value) != value:
            raise SettingsError(f"--option {name} is given twice, as {chosen[name]} and {value}; give it once")
    settings = Settings(allow_incomplete=allow_incomplete, task_options={found.name: chosen})
    loaded = registry.load_encoder(encoder)
    dataset = load_dataset(found, data_root(data), settings).for_encoder(loaded)
    assert isinstance(dataset, AnalogyDataset)
    texts = list(dataset.all_texts())
    embeddings = embed_texts(loaded, texts, batch_size=settings.batch_size, task_name=found.name, cache=EmbeddingCache())
    found_of = count_errors(dataset, embeddings)
    columns = [*KINDS, "none of these"]
    rows = []
    for relation, counts in [*found_of.items(), ("all", sum(found_of.values(), Counter()))]:
        shares = [f"{100 * counts[kind] / counts['wrong']:.0f} %" if counts["wrong"] else "-" for kind in columns]
        rows.append([relation, f"{counts['asked']:,}", f"{counts['wrong']:,}", *shares])
    header = ["Relation", "Asked", "Wrong", *(name.capitalize() for name in columns)]
    echo(text_table(header, rows, [False, *([True] * (len(header) - 1))]))
    for kind, meaning in KINDS.items():
        echo(f"{kind}: {meaning}.")
    if dataset.synthetic:
        echo(SYNTHETIC_WARNING)


@analogies.command()
@click.argument("results", type=PATH, default=Path("results"))
@click.option("-t", "--task", default="BMASS", show_default=True, help="The analogy task.")
@click.option("-o", "--output", type=PATH, default=Path("figures"), show_default=True, metavar="FOLDER")
@click.option("--metric", type=click.Choice(["acc", "map", "mrr"]), default="acc", show_default=True,
              help="Metric of the comparison.")  # fmt: skip
@click.option("--format", "kind", type=click.Choice(["png", "pdf", "svg"]), default="png", show_default=True)
def figures(results: Path, task: str, output: Path, metric: str, kind: str) -> None:
    """Draw stored results: the three metrics of each relation for every result, and all results side by side."""
    name = registry.task(task).name
    found = settled([each for each in ResultStore(results).results() if each.task == name])
    if not found:
        raise DataMissingError(
            f"no result of {name} is stored in {results}; run it first: medsenteval run -t {name} -e ENCODER"
        )
    output.mkdir(parents=True, exist_ok=True)
    found.sort(key=lambda each: (each.encoder, each.protocol))
    for number, result in enumerate(found, start=1):
        path = output / f"{name}-{number:02d}-{file_name_of(result.protocol)}.{kind}"
        write_drawing(metric_bars(result), path)
        echo(str(path))
    if len(found) > 1:
        path = output / f"{name}-compared-{metric}.{kind}"
        write_drawing(compared_bars(found, metric), path)
        echo(str(path))
