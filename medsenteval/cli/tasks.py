"""``medsenteval tasks``: what can be evaluated."""

from __future__ import annotations

import click

from medsenteval import registry
from medsenteval.cli.shared import DATA, echo, echo_facts, echo_json, echo_wrapped, for_machines, line_width
from medsenteval.comparison.decision import published_items, smallest_published
from medsenteval.datasets.locate import data_root, locate
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
