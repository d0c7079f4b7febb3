"""``medsenteval encoders``: what --encoder can name."""

from __future__ import annotations

import click

__all__ = ["encoders"]


@click.command()
@click.argument("name", required=False)
def encoders(name: str | None) -> None:
    """List the kinds of encoder and the published encoders that --encoder can name; with NAME, say all about one."""
    from medsenteval import registry
    from medsenteval.encoders.recipes import describe, recipes
    from medsenteval.report.table import text_table

    kinds = registry.encoder_kinds()
    if name is not None:
        canonical, recipe = registry.encoder_name(name)
        click.echo(f"{canonical}: {kinds[canonical]}" if recipe is None else describe(recipe))
        return
    click.echo(text_table(["Kind", "Argument"], list(kinds.items()), [False, False]))
    click.echo("\nWritten KIND:ARGUMENT,OPTION=VALUE, for example vectors:glove.6B.100d.txt,case=lower\n")
    rows = []
    for recipe in recipes().values():
        weights = "automatic" if recipe.automatic else "present" if recipe.present else "by hand"
        size = "unknown" if recipe.dimension is None else str(recipe.dimension)
        rows.append([recipe.name, recipe.kind, size, weights, "; ".join(map(str, recipe.rows))])
    click.echo(text_table(["Published encoder", "Kind", "Size", "Weights", "Rows"], rows, [False, False, True, False, False]))
    click.echo("\nWritten by name, for example biobert or biobert,max_length=256. `medsenteval encoders NAME` says where")
    click.echo("the weights come from and, where they are fetched by hand, what to put where.")
