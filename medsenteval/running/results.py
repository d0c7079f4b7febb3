"""Results as objects: looked up by task and encoder, shown as a table, turned into data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from medsenteval import registry
from medsenteval.contracts import Result
from medsenteval.errors import SettingsError
from medsenteval.running import result_store
from medsenteval.running.job_identity import comparability, told_apart
from medsenteval.running.score_table import detail_table, score_rows, score_table
from medsenteval.support.text_table import data_frame, html_table


class Results:
    """Results of encoders on tasks, in the order of the run; ``skipped`` says why a task is missing.

    Iterating yields the names of tasks; ``values()`` yields every Result.

    >>> results = medsenteval.evaluate("lexical", tasks="ClinicalSTS,BIOSSES")
    >>> results["BIOSSES"].metric("pearson").n
    100
    >>> results.encoders, results.tasks
    (['lexical'], ['ClinicalSTS', 'BIOSSES'])
    """

    def __init__(self, results: Iterable[Result], skipped: Mapping[str, str] | None = None) -> None:
        self._results = list(results)
        self.skipped = dict(skipped or {})

    @property
    def encoders(self) -> list[str]:
        """The names of the encoders, each once."""
        return list(dict.fromkeys(result.encoder for result in self._results))

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks, each once."""
        return list(dict.fromkeys(result.task for result in self._results))

    def values(self) -> list[Result]:
        """Return every Result."""
        return list(self._results)

    def keys(self) -> list[str]:
        """Return the names of the tasks, as iterating does."""
        return self.tasks

    def to_dataframe(self) -> Any:
        """Return a pandas data frame with one row for each encoder, task, seed and metric; encoders of one name get two.

        ``caution`` says what a score is to be read with: few words known, texts cut, a part of the data, ...

        >>> frame = medsenteval.evaluate("lexical", tasks="BIOSSES").to_dataframe()
        >>> list(frame["metric"])
        ['pearson', 'spearman']
        """
        of_metric = ("value", "low", "high", "baseline", "n", "unit")
        of_result = ("protocol", "probe", "seed", "synthetic")
        rows = [
            {"encoder": result.encoder, "task": result.task, "metric": metric.name}
            | {column: getattr(metric, column) for column in of_metric}
            | {column: getattr(result, column) for column in of_result}
            | {"caution": "; ".join(result.cautions), "signature": result.signature}
            for result in told_apart(self._results)[0]
            for metric in result.metrics
        ]
        return data_frame(rows)

    def items(self, task: str = "") -> Any:
        """Return a pandas data frame with one row for each encoder, seed and item of a task: gold and predicted answers.

        Classes have their names. ``task`` may be left out where there is only one. Results that do not compare have
        ``protocol``, the part of the signature that tells them apart.

        >>> medsenteval.evaluate("lexical", tasks="BIOSSES").items().columns.tolist()
        ['encoder', 'seed', 'id', 'gold', 'predicted']
        """
        if not task and len(self.tasks) != 1:
            raise SettingsError(f"items() shows one task; name one of {', '.join(self.tasks)}")
        rows = []
        name = self._of_task(task or self.tasks[0])[0].task
        # Named among all results, so that an encoder has the name that it has in to_dataframe().
        results = [result for result in told_apart(self._results)[0] if result.task == name]
        several = len(set(map(comparability, results))) > 1
        for result in results:
            names = dict(enumerate(result.label_names))
            columns = {
                key: [names.get(value, value) for value in values] if names and key in ("gold", "predicted") else values
                for key, values in result.items.items()
                if isinstance(values, Sequence) and len(values) == len(result.items["id"])
            }
            about = {"encoder": result.encoder, **({"protocol": comparability(result)} if several else {}), "seed": result.seed}
            rows += [about | dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
        return data_frame(rows)

    def _of_task(self, task: str) -> list[Result]:
        name = task if task in self.tasks else registry.canonical_task_name(task)
        found = [result for result in self._results if result.task == name]
        if not found:
            why = self.skipped.get(name, f"there: {', '.join(self.tasks)}")
            raise KeyError(f"no result of the task {name!r}; {why}")
        return found

    def __getitem__(self, key: str | tuple[str, str]) -> Result:
        """Return the result of a task, or with several encoders of (task, encoder)."""
        task, encoder = (key, "") if isinstance(key, str) else key
        found = [result for result in self._of_task(task) if encoder in ("", result.encoder)]
        if len(found) == 1:
            return found[0]
        if not found:
            raise KeyError(f"no result of {encoder!r} on {task}; encoders: {', '.join(self.encoders)}")
        names = ", ".join(f"{result.encoder} (seed {result.seed})" for result in found)
        raise SettingsError(
            f"{task} has {len(found)} results: {names}; results[{task!r}, {found[0].encoder!r}] takes one encoder's, "
            "values() has them all"
        )

    def __contains__(self, key: object) -> bool:
        return key in self.tasks

    def __iter__(self) -> Iterator[str]:
        return iter(self.tasks)

    def __len__(self) -> int:
        return len(self._results)

    def __str__(self) -> str:
        return "\n".join([detail_table(self._results), *(f"Left out: {reason}" for reason in self.skipped.values())])

    def __repr__(self) -> str:
        left_out = f", {len(self.skipped)} left out" if self.skipped else ""
        title = f"{len(self)} results: {len(self.encoders)} encoder(s), {len(self.tasks)} task(s){left_out}"
        return f"{title}\n{score_table(self._results)}" if self._results else title

    def _repr_html_(self) -> str:
        """Show the table of scores in a notebook."""
        header, rows, notes = score_rows(self._results)
        notes = [*notes, *(f"Left out: {reason}" for reason in self.skipped.values())]
        return html_table(header, rows, [False] + [True] * (len(header) - 1), notes)


def load_results(*places: str | Path, folder: str | Path = "results") -> Results:
    """Load stored results from folders and files; a name that is neither is an encoder with results in ``folder``.

    Without any place everything in ``folder`` is loaded.

    >>> results = medsenteval.evaluate("lexical", tasks="BIOSSES", output="my-results")
    >>> medsenteval.load_results("my-results")["BIOSSES"].signature == results["BIOSSES"].signature
    True
    """
    return Results(result_store.load_results([str(place) for place in places], Path(folder)))
