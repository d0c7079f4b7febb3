"""``medsenteval ratings``: how annotators rated pairs of words."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from medsenteval.cli import shared
from medsenteval.cli.shared import echo
from medsenteval.comparison.word_subsets import pair_subsets, read_word_values
from medsenteval.statistics import agreement_with_others, pairwise_agreement
from medsenteval.support.atomic_files import write_atomically
from medsenteval.support.text_table import text_table
from medsenteval.words.ratings import Ratings, outliers, read_ratings


@click.command()
@click.argument("file", type=shared.PATH)
@click.option("--words", metavar="A,B", help="The columns of the two words; default the first two.")
@click.option("--raters", metavar="NAMES", help="The annotators' columns, as names or patterns (rater_*); default all others.")
@click.option("--common", type=click.IntRange(min=3), default=3, show_default=True, metavar="N",
              help="Compare only annotators who rated N of the same pairs: keeps groups apart.")  # fmt: skip
@click.option("--outliers", "deviations", type=float, default=2.0, show_default=True, metavar="SD",
              help="How far below the others' mean agreement an annotator is called an outlier.")  # fmt: skip
@click.option("--drop-outliers", is_flag=True, help="Leave outliers out of all that follows.")
@click.option("--scale", default="0,6,0,10", show_default=True, metavar="LOW,HIGH,LOW,HIGH", callback=shared.numbers,
              help="The raters' scale, and that of the scores.")  # fmt: skip
@click.option("--by", "tables", multiple=True, type=shared.PATH, metavar="TABLE",
              help="Words and their values (frequency, number of subjects): spread of ratings by subset.")  # fmt: skip
@shared.LIMITS
@shared.GROUPS
@click.option("-o", "--output", type=shared.PATH, metavar="FILE", help="Write the pairs with their scores.")
def ratings(
    file: Path,
    words: str | None,
    raters: str | None,
    common: int,
    deviations: float,
    drop_outliers: bool,
    scale: tuple[float, ...],
    tables: tuple[Path, ...],
    limits: tuple[float, ...],
    groups: int,
    output: Path | None,
) -> None:
    """Measure how far the annotators of a FILE of word pairs agree: IAA-1, IAA-2, outliers, spread by subset.

    FILE has a row for each pair: two words and one rating by each annotator, empty or -1 where there is none.
    """
    found = read_ratings(file, shared.names_in(words), shared.names_in(raters))
    odd = outliers(found, common, deviations)
    fewest, most = found.counts.min(), found.counts.max()
    echo(f"{len(found.pairs):,} pairs, {len(found.raters):,} annotators, {fewest} to {most} a pair")
    for name, value in odd.items():
        echo(f"Outlier: {name}, mean correlation with the others {value:.3f}")
    if not odd:
        echo(f"No annotator agrees with the others by {deviations:g} standard deviations less than they do among themselves.")
    if drop_outliers and odd:
        found = found.without(list(odd))
        echo(f"Without {'it' if len(odd) == 1 else 'them'}: {len(found.pairs):,} pairs, {len(found.raters):,} annotators")
    echo(f"IAA-1 (two annotators)               {pairwise_agreement(found.values, common=common):.3f}")
    echo(f"IAA-2 (one and the mean of the rest) {agreement_with_others(found.values, common=common):.3f}")
    if len(scale) != 4:
        raise click.UsageError(f"--scale has {len(scale)} number(s); expected four numbers, as in 0,6,0,10")
    scores = found.scaled((scale[0], scale[1]), (scale[2], scale[3]))
    for table in tables:
        echo(_spread(found, table, limits, groups))
    if output is not None:
        rows = [f"{first}\t{second}\t{score:.10g}\n" for (first, second), score in zip(found.pairs, scores, strict=True)]
        write_atomically(output, "".join(rows))
        echo(f"Scores from {scale[2]:g} to {scale[3]:g}: {output}")


def _spread(found: Ratings, table: Path, limits: tuple[float, ...], groups: int) -> str:
    """Return the mean standard deviation of ratings for each subset of pairs (Chiu et al. 2018, Tables 10 and 11)."""
    parts = pair_subsets(found.pairs, read_word_values(table), limits, groups, table.stem)
    deviations, places = found.deviations, np.array(parts.subset_of)
    means, rows = [], []
    for number in range(parts.n_subsets):
        inside = deviations[(places == number) & ~np.isnan(deviations)]
        means.append(float(inside.mean()) if len(inside) else np.nan)
        rows.append([parts.label(number), f"{len(inside):,}", f"{means[-1]:.4f}" if len(inside) else "-"])
    rows.append(["mean of the subsets", "", f"{np.mean(means):.4f}"])
    header = ["Both words", "Pairs", "Mean sd of ratings"]
    return "\n".join([f"By {table.name}", text_table(header, rows, [False, True, True]), parts.left_out])
