"""``medsenteval tasks`` and ``medsenteval encoders``: what can be evaluated, and what --encoder can name."""

from __future__ import annotations

import click

from medsenteval import registry
from medsenteval.cli.shared import DATA, echo, echo_facts, echo_json, echo_wrapped, for_machines, line_width
from medsenteval.comparison.decision import published_items, smallest_published
from medsenteval.datasets.locate import data_root, locate
from medsenteval.encoders.recipes import describe, recipes
from medsenteval.errors import DataMissingError
from medsenteval.support.text_table import text_table


@click.command()
@click.argument("name", required=False)
@DATA
@for_machines
def tasks(name: str | None, data: str | None, wide: bool, as_json: bool) -> None:
    """List the tasks and whether their data is there; with NAME, say what to cite, the licence and how to get the data."""
    if name is not None:
        task = registry.task(name)
        facts = {
            "Task": f"{task.name} (version {task.version}): {task.family}, {task.protocol}, {'/'.join(task.metrics)}",
            "Labels": ", ".join(task.labels),
            "Published": ", ".join(f"{split} {count:,}" for split, count in task.published_counts.items()),
            "Options": " ".join(f"{key}={'|'.join(values)}" for key, values in task.options.items()),
            "Cite": task.citation,
            "Licence": task.licence,
            "Access": task.access,
            "To get it": task.obtain,
        }
        echo_facts(facts)
        return
    root = data_root(data)
    rows, records = [], []
    for task in map(registry.task, registry.task_names()):
        try:
            folder: str | None = str(locate(task, root))
        except DataMissingError:
            folder = None
        where = "absent" if folder is None else folder if wide else "here"
        n = published_items(task)
        shows = smallest_published(task, n)
        shown = ["/".join(task.metrics), f"{n:,}" if n else "-", shows, where]
        rows.append([task.name, task.family, task.protocol, *shown])
        about = {
            "name": task.name, "family": task.family, "labels": task.labels, "protocol": task.protocol, "metrics": task.metrics,
            "items": n or None, "shows": None if shows == "-" else float(shows), "options": dict(task.options),
            "access": task.access, "data": folder,
        }  # fmt: skip
        records.append(about)
    if as_json:
        echo_json(records)
        return
    width = line_width(wide)
    header = ["Task", "Family", "Protocol", "Metrics", "Items", "Shows", "Data"]
    echo(text_table(header, rows, [False, False, False, False, True, True, False], width))
    echo()
    echo_wrapped(
        "Shows: the smallest difference of the first metric between two encoders of the published median score that the "
        "published number of items would show in four of five experiments (points; correlations as fractions).",
        width,
    )
    echo_wrapped(f"Data: in {root}. Labels, options and how to get the data: `medsenteval tasks NAME`.", width)


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
