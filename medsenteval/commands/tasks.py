"""``medsenteval tasks``: what can be evaluated, and where its data is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from medsenteval.contracts import Task

__all__ = ["tasks"]


@click.command()
@click.argument("name", required=False)
@click.option("-d", "--data", metavar="FOLDER", help="Data folder; default MEDSENTEVAL_DATA, then the bundled sample.")
def tasks(name: str | None, data: str | None) -> None:
    """List the tasks and whether their data is there; with NAME, say what to cite, the licence and how to get the data."""
    from medsenteval import registry
    from medsenteval.datasets import data_root, locate
    from medsenteval.errors import DataMissingError
    from medsenteval.report.table import text_table

    if name is not None:
        click.echo(_describe(registry.task(name)))
        return
    root = data_root(data)
    rows = []
    for task in map(registry.task, registry.task_names()):
        try:
            where = str(locate(task, root))
        except DataMissingError:
            where = f"absent ({task.access})"
        options = " ".join(f"{key}={'|'.join(values)}" for key, values in task.options.items())
        classes = str(len(task.labels)) if task.labels else ""
        rows.append([task.name, task.family, classes, task.protocol, "/".join(task.metrics), options, where])
    header = ["Task", "Family", "Classes", "Protocol", "Metrics", "Options", "Data"]
    click.echo(text_table(header, rows, [False, False, True, False, False, False, False]))


def _describe(task: Task) -> str:
    counts = ", ".join(f"{split} {count:,}" for split, count in task.published_counts.items())
    lines = {
        "Task": f"{task.name} (version {task.version}): {task.family}, {task.protocol}, {'/'.join(task.metrics)}",
        "Labels": ", ".join(task.labels),
        "Published": counts,
        "Options": " ".join(f"{key}={'|'.join(values)}" for key, values in task.options.items()),
        "Cite": task.citation,
        "Licence": task.licence,
        "Access": task.access,
        "To get it": task.obtain,
    }
    return "\n".join(f"{key + ':':<11}{value}" for key, value in lines.items() if value)
