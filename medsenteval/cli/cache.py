"""``medsenteval cache``: the store of vectors."""

from __future__ import annotations

import sys

import click

from medsenteval.cli.commands import BAD_INPUT
from medsenteval.cli.shared import echo
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.support.text_table import text_table


@click.group()
def cache() -> None:
    """The embedding cache: what is in it, what can go."""


@cache.command()
def info() -> None:
    """Show each encoder's vectors: texts, dimension, size, days unused."""
    found = EmbeddingCache()
    rows, total = [], 0
    for store in found.stores():
        total += store.size
        blocks = store.blocks()
        dimensions = "/".join(map(str, sorted({block.columns for block in blocks})))
        texts = f"{sum(block.rows for block in blocks):,}"
        size, unused = f"{store.size / 1e6:,.1f}", f"{store.days_unused:.0f}"
        rows.append([store.key[:12], str(store.about.get("encoder", "?")), texts, dimensions, size, unused])
    header = ["Entry", "Encoder", "Texts", "Dimension", "MB", "Days unused"]
    echo(text_table(header, rows, [False, False, True, True, True, True]))
    echo(f"\n{len(rows)} entries, {total / 1e6:,.1f} MB in {found.folder}")


@cache.command()
def verify() -> None:
    """Check every stored block against its hash; exit code 2 if anything is damaged."""
    damaged = 0
    for store in EmbeddingCache().stores():
        blocks = store.blocks()
        wrong = len(store.damaged(blocks)) + len(list(store.folder.glob("block-*"))) - len(blocks)
        damaged += bool(wrong)
        state = f"{wrong} damaged block(s), computed again when next used" if wrong else "sound"
        echo(f"{store.key[:12]}: {store.about.get('encoder', '?')}: {state}")
    if damaged:
        sys.exit(BAD_INPUT)


@cache.command()
@click.option("--encoder", metavar="NAME", help="Only vectors of this encoder.")
@click.option("--older-than", type=float, metavar="DAYS", help="Only vectors not used for so many days.")
@click.option("--all", "everything", is_flag=True, help="All vectors.")
def prune(encoder: str | None, older_than: float | None, everything: bool) -> None:
    """Remove encoders' vectors; say whose."""
    if not (encoder or older_than is not None or everything):
        raise click.UsageError("say which entries: --encoder, --older-than or --all")
    found = EmbeddingCache()
    freed = 0
    for store in found.stores():
        about = store.about
        if encoder in (None, about.get("encoder")) and (older_than is None or store.days_unused > older_than):
            freed += store.size
            found.remove(store)
            echo(f"removed {store.key[:12]}: {about.get('encoder', '?')}")
    echo(f"{freed / 1e6:,.1f} MB freed")
