"""Anything that can encode, on tasks, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medsenteval import registry
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.encoders.adapt import as_encoder
from medsenteval.errors import DataMissingError, SettingsError
from medsenteval.running.executors.executor import Executor
from medsenteval.running.result_store import ResultStore
from medsenteval.running.results import Results
from medsenteval.running.suite import Suite
from medsenteval.settings import Settings


def evaluate(
    encoder: Any,
    tasks: Any = "sentence",
    data: str | Path | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    *,
    output: str | Path | None = None,
    name: str | Sequence[str] = "",
    identity: str = "",
    seeds: Sequence[int] = (),
    force: bool = False,
    cache: bool = True,
    progress: bool | None = None,
    executor: str | Executor = "in-process",
    **changes: Any,
) -> Results:
    """Evaluate anything that can encode and return a Result for each task.

    ``encoder`` is a specification ("lexical", "vectors:glove.txt"), a SentenceTransformer, a model of transformers alone or as
    (model, tokenizer), of gensim or of mteb, a function from texts to rows, an object with ``.encode``, a dict of word vectors,
    or SentEval's (batcher, prepare); a list evaluates several, ``name`` is then a list too. ``tasks`` are names of tasks or
    groups, Task objects, or data of your own: a path, a DataFrame, a list of dicts, (texts, labels), or what
    ``medsenteval.own_task`` returns. ``data`` is the data folder; without it and without MEDSENTEVAL_DATA the bundled
    synthetic sample is used. ``settings`` are Settings or a dict of them, and can be given by name: ``folds=5``. ``seeds``
    repeats everything with each.

    ``output`` is a results folder: what is stored there is not run again, unless ``force`` is true. Vectors of encoders that
    have an identity are cached; ``identity`` gives one to a function or object that has none, and must change whenever its
    vectors could. Without one, other vectors make another result, stored beside the earlier one. ``executor`` says where work
    runs: "in-process", "processes:4" or "dask://HOST:PORT"; a script that starts processes must do so under
    ``if __name__ == "__main__":``. ``progress`` shows a bar on a terminal and in a notebook; True writes lines elsewhere too,
    False is silent. Tasks without data are listed in ``.skipped``. The first error is raised after the other tasks have run,
    with the finished ones in its attribute ``results``.

    >>> results = medsenteval.evaluate(lambda texts: [[len(text), 1.0] for text in texts], tasks="BIOSSES", name="length")
    >>> results["BIOSSES"].encoder
    'length'
    >>> medsenteval.evaluate(["lexical", "lexical,dimension=64"], "BIOSSES", name=["large", "small"], folds=5).encoders
    ['large', 'small']
    """
    encoders = list(encoder) if isinstance(encoder, list) else [encoder]
    names = [name] * len(encoders) if isinstance(name, str) else list(name)
    if len(names) != len(encoders) or (isinstance(name, str) and name and len(encoders) > 1):
        raise SettingsError(f"name is {name!r} for {len(encoders)} encoder(s); give a list with a name for each")
    for place, (each, given) in enumerate(zip(encoders, names, strict=True)):
        if not isinstance(each, str):
            encoders[place] = as_encoder(each, given, identity)
        elif given:
            encoders[place] = registry.add_options(each, {"name": given})
    suite = Suite(
        encoders,
        registry.select_tasks(tasks),
        Settings.of(settings, changes),
        tuple(seeds),
        data=data,
        store=None if output is None else ResultStore(Path(output)),
        cache=EmbeddingCache() if cache else None,
        force=force,
        retry_failed=True,
        executor=executor,
        progress=progress,
    )
    outcome = suite.run()
    results = Results(outcome.results, outcome.skipped)
    for error in outcome.failed.values():
        error.results = results  # type: ignore[attr-defined]
        raise error
    if not results:
        raise DataMissingError("; ".join(outcome.skipped.values()))
    return results
