"""``medsenteval cache info | verify | prune``."""

from __future__ import annotations

import sys

import click

from medsenteval.commands import BAD_INPUT

__all__ = ["cache"]


@click.group()
def cache() -> None:
    """The embedding cache: what is in it, what can go."""


@cache.command()
def info() -> None:
    """Show every entry: encoder, task, texts, size, completeness."""
    from medsenteval.cache import EmbeddingCache
    from medsenteval.report.table import text_table

    found = EmbeddingCache()
    rows, total = [], 0
    for entry, about in found.entries():
        total += entry.size
        complete = f"{entry.n_recorded} of {entry.n_blocks}" if about else "unreadable"
        names = [str(about.get(key, "?")) for key in ("encoder", "task", "rows", "dimension")]
        rows.append([entry.key[:12], *names, f"{entry.size / 1e6:,.1f}", complete])
    header = ["Entry", "Encoder", "Task", "Texts", "Size", "MB", "Blocks"]
    click.echo(text_table(header, rows, [False, False, False, True, True, True, True]))
    click.echo(f"\n{len(rows)} entries, {total / 1e6:,.1f} MB in {found.folder}")


@cache.command()
def verify() -> None:
    """Check every stored block against its hash; exit code 2 if anything is damaged."""
    from medsenteval.cache import EmbeddingCache

    damaged = 0
    for entry, about in EmbeddingCache().entries():
        wrong = entry.damaged_blocks() if about else [0]
        damaged += bool(wrong)
        state = f"{len(wrong)} damaged block(s), computed again when next used" if wrong else "sound"
        click.echo(f"{entry.key[:12]}: {about.get('encoder', '?')} on {about.get('task', '?')}: {state}")
    if damaged:
        sys.exit(BAD_INPUT)


@cache.command()
@click.option("--encoder", metavar="NAME", help="Only entries of this encoder.")
@click.option("--task", metavar="NAME", help="Only entries of this task.")
@click.option("--older-than", type=float, metavar="DAYS", help="Only entries not used for so many days.")
@click.option("--all", "everything", is_flag=True, help="All entries.")
def prune(encoder: str | None, task: str | None, older_than: float | None, everything: bool) -> None:
    """Remove entries; say which."""
    from medsenteval.cache import EmbeddingCache

    if not (encoder or task or older_than is not None or everything):
        raise click.UsageError("say which entries: --encoder, --task, --older-than or --all")
    found = EmbeddingCache()
    freed = 0
    for entry, about in found.entries():
        chosen = (encoder in (None, about.get("encoder"))) and (task in (None, about.get("task")))
        if chosen and (older_than is None or entry.days_unused > older_than):
            freed += entry.size
            found.remove(entry)
            click.echo(f"removed {entry.key[:12]}: {about.get('encoder', '?')} on {about.get('task', '?')}")
    click.echo(f"{freed / 1e6:,.1f} MB freed")
