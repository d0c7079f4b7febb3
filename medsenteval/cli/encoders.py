"""``medsenteval encoders``: what --encoder can name."""

from __future__ import annotations

import click

from medsenteval import registry
from medsenteval.cli.shared import echo, echo_json, echo_wrapped, for_machines, line_width
from medsenteval.encoders.recipes import describe, recipes
from medsenteval.support.text_table import text_table


@click.command()
@click.argument("name", required=False)
@for_machines
def encoders(name: str | None, wide: bool, as_json: bool) -> None:
    """List the kinds of encoder and the encoders by name that --encoder can take; with NAME, say all about one."""
    kinds = registry.encoder_kinds()
    if name is not None:
        canonical, recipe = registry.encoder_name(name)
        echo(f"{canonical}: {kinds[canonical]}" if recipe is None else describe(recipes()[recipe.name]))
        return
    width = line_width(wide)
    if as_json:
        published = [
            {"name": each.name, "kind": each.kind, "size": each.dimension, "automatic": each.automatic, "present": each.present}
            for each in recipes().values()
        ]
        echo_json({"kinds": kinds, "published": published})
        return
    echo(text_table(["Kind", "Argument"], list(kinds.items()), [False, False], width))
    echo()
    echo_wrapped("Written KIND:ARGUMENT,OPTION=VALUE, for example vectors:glove.6B.100d.txt,case=lower", width)
    echo()
    rows = []
    for recipe in recipes().values():
        weights = "automatic" if recipe.automatic else "present" if recipe.present else "by hand"
        size = "unknown" if recipe.dimension is None else str(recipe.dimension)
        rows.append([recipe.name, recipe.kind, size, weights, "; ".join(map(str, recipe.rows)) or recipe.title])
    header = ["Encoder by name", "Kind", "Size", "Weights", "Published rows, or what it is"]
    echo(text_table(header, rows, [False, False, True, False, False], width))
    echo()
    echo_wrapped(
        "Written by name, for example biobert or biobert,max_length=256. `medsenteval encoders NAME` says where the weights "
        "come from and, where they are fetched by hand, what to put where.",
        width,
    )
