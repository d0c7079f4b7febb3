"""One encoder on one task, and SentEval's entry point ``SE`` with its contract unchanged."""

from __future__ import annotations

import hashlib
import logging
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import version
from types import CodeType
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from medsenteval import __version__, registry
from medsenteval.contracts import OWN_SIMILARITY, Dataset, Embeddings, Encoder, Result, Scores, Task
from medsenteval.datasets.locate import data_root, load_dataset
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.embedding.embed import RemoteEncoding, embed_texts, texts_in_roles
from medsenteval.encoders.adapt import BatcherEncoder
from medsenteval.encoders.endpoint_budget import TokenBudget
from medsenteval.errors import EncoderError, SettingsError
from medsenteval.probes import describe_probe
from medsenteval.settings import SentEvalParams, Settings
from medsenteval.support.cores import peak_memory_mb
from medsenteval.support.progress import Progress
from medsenteval.tasks.probe_rows import stacked_parts

_log: Final = logging.getLogger(__name__)

#: An encoder that knows a smaller share of a task's tokens is not scored.
_LEAST_COVERAGE: Final = 0.05


class Workers(Protocol):
    """Processes that encode and score in place of this one; ``medsenteval.running.executors`` has them."""

    @property
    def peak_memory_mb(self) -> float: ...

    def encoding(self, encoder: Encoder, task: str, role: str) -> RemoteEncoding | None: ...

    def score(self, task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings, title: str) -> Scores: ...


def evaluate_task(
    task: Task,
    dataset: Dataset,
    encoder: Encoder,
    settings: Settings,
    *,
    cache: EmbeddingCache | None = None,
    progress: Progress | None = None,
    seconds_reading: float = 0.0,
    workers: Workers | None = None,
    turn: AbstractContextManager[object] | None = None,
) -> Result:
    """Encode a data set's texts and score the task; the whole way from texts to Result.

    With ``workers`` these do both. ``turn`` is held while texts are encoded.
    """
    started = time.perf_counter()
    asked = dataset.for_encoder(encoder)
    common: dict[str, Any] = {"batch_size": settings.batch_size, "task_name": task.name, "cache": cache, "progress": progress}
    meter: TokenBudget | None = getattr(encoder, "token_budget", None)
    with turn or nullcontext(), nullcontext() if meter is None else meter.alone:
        used_before = (meter.used if meter else None) or 0
        embeddings, seen = _embed(task, asked, encoder, workers, **common)
        tokens = {} if meter is None or meter.used is None else {"tokens": meter.used - used_before}
    encoded = time.perf_counter()
    coverage = known_share(encoder, embeddings.row_of, task.name)
    coverage["zero_vectors"] = int(embeddings.zero_rows.sum()) / len(embeddings.matrix)
    begun = time.perf_counter()
    if workers is None:
        scores = task.evaluate(task, asked, embeddings, settings)
    else:
        scores = workers.score(task, asked, embeddings, settings, f"{task.name}: {encoder.name}")
    return make_result(
        task,
        dataset,
        scores,
        settings,
        encoder,
        vectors=embeddings.matrix,
        coverage=coverage,
        timings={"read": seconds_reading, "encode": encoded - started, "fit": time.perf_counter() - begun},
        performance={
            "texts": len(embeddings.matrix),
            "texts_encoded": embeddings.n_encoded,
            "texts_per_second": embeddings.n_encoded / (encoded - started),
            "peak_memory_mb": max(peak_memory_mb(), 0.0 if workers is None else workers.peak_memory_mb),
            **tokens,
        },
        seen=seen,
    )


def _embed(
    task: Task, dataset: Dataset, encoder: Encoder, workers: Workers | None, **common: Any
) -> tuple[Embeddings, dict[str, Any]]:
    """Encode a data set's texts, each in the role that the task gives it, and say what the encoder saw of them."""
    parts = texts_in_roles(task, dataset, encoder)
    found = []
    for role, used, texts in parts:
        # Workers cannot make a server faster, and would each count its tokens on their own.
        spread = workers if not hasattr(encoder, "token_budget") else None
        remote = None if spread is None else spread.encoding(encoder, task.name, role)
        found.append(embed_texts(used, texts, **common, remote=remote))
    seen = _what_was_seen(encoder, found, [dict(getattr(used, "sees", {})) for _, used, _ in parts])
    if len(found) == 1:
        return found[0], seen
    one, other = found
    if one.matrix.shape[1] != other.matrix.shape[1]:
        widths = f"{one.matrix.shape[1]} for queries, {other.matrix.shape[1]} for documents"
        raise EncoderError(f"{task.name}: {encoder.name} gives vectors of different widths: {widths}")
    second = {text: len(one.matrix) + row for text, row in other.row_of.items()}
    matrix = np.concatenate([one.matrix, other.matrix])
    return Embeddings(matrix, one.row_of, one.n_encoded + other.n_encoded, second=second), seen


def _what_was_seen(encoder: Encoder, parts: list[Embeddings], seen: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how the encoder read the texts, and how many of them it read only in part."""
    described = dict(seen[0])
    if len(seen) > 1:
        prompts = [each.get("prompt", "") for each in seen]
        described |= {"prompt": "", "query_prompt": prompts[0], "document_prompt": prompts[1]}
    width = int(parts[0].matrix.shape[1])
    size: Callable[[int], int] = getattr(encoder, "bytes_per_vector", lambda width: 4 * width)
    described["bytes_per_vector"] = size(width)
    limits = [each.get("max_length") for each in seen]
    if len(set(limits)) > 1:
        described.pop("max_length", None)
        described |= {"query_max_length": limits[0], "document_max_length": limits[1]}
    # Each part is measured by its own limit: a model for documents may take more than the one for queries.
    counted = [
        (part.tokens.astype(np.int64), limit)
        for part, limit in zip(parts, limits, strict=True)
        if part.tokens is not None and limit is not None and part.tokens.any()
    ]
    if counted:
        lost = np.concatenate([np.maximum(tokens - limit, 0) for tokens, limit in counted])
        cut = int(np.count_nonzero(lost))
        lost_share = float(lost.sum() / sum(int(tokens.sum()) for tokens, _ in counted))
        described |= {"texts_cut": cut, "texts_cut_share": cut / len(lost), "tokens_lost_share": lost_share}
    return described


def known_share(encoder: Encoder, texts: Iterable[str], where: str) -> dict[str, float]:
    """Return what share of the texts an encoder knows; one that knows next to nothing is refused before it is scored.

    This holds for every task. What word tasks do about single unknown words begins above it.
    """
    measure = getattr(encoder, "coverage", None)
    coverage: dict[str, float] = {} if measure is None else dict(measure(texts))
    if "tokens" in coverage and coverage["tokens"] < _LEAST_COVERAGE:
        raise EncoderError(
            f"{where}: {encoder.name} knows {coverage['tokens']:.1%} of the words in the texts, and below "
            f"{_LEAST_COVERAGE:.0%} a score would say nothing of it. Are the vectors of this language, does their case fit "
            "(option case), and is the file what it should be?"
        )
    return coverage


@cache
def _versions() -> dict[str, str]:
    return {"medsenteval": __version__, **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")}}


def _probe_name(task: Task, settings: Settings) -> str:
    if not task.uses_probe:
        return "none"
    # mteb's few-shot protocol brings its own logistic regression, whatever probe is set.
    return "mteb" if settings.few_shot == "mteb" else settings.probe


def signature_of(
    task: Task,
    dataset: Dataset,
    encoder: Encoder,
    settings: Settings,
    vectors: NDArray[np.float32] | None = None,
    predicted: Sequence[float] | None = None,
) -> str:
    """Return the signature that a result will have; it is known before anything is encoded.

    In the result of an encoder without an identity, a hash of its vectors stands in for one; likewise one of the predicted
    similarities where these are the caller's own.
    """
    described = encoder.identity
    if not described:
        described = f"{encoder.name} (no identity{'' if vectors is None else f', vectors {_digest(vectors)}'})"
    # Two functions can have the same code and other constants around it: what they return tells them apart.
    own = settings.similarity if task.protocol_under(settings) == OWN_SIMILARITY else None
    if own is not None and predicted is not None:
        described += f" (similarities {_digest(np.asarray(predicted, dtype=np.float64))})"
    trained, stacked = _probe_name(task, settings) != "none", stacked_parts(task, settings)
    parts = [
        f"{task.name}@{task.version}",
        *(f"{name}={value}" for name, value in sorted(dataset.options.items())),
        task.protocol_of(dataset, settings),
        describe_probe(settings, task.training, len(dataset)) if trained else "none",
        *([f"similarity={_similarity_name(own)}"] if own else []),
        *([f"parts={stacked}"] if trained and stacked != task.pair_features else []),
        f"seed={settings.seed}",
        *([f"limit={settings.limit}"] if settings.limit else []),
        *(["incomplete"] if dataset.incomplete else []),
        *([f"roles={'/'.join(task.roles)}"] if any(task.roles) else []),
        f"{'synthetic' if dataset.synthetic else 'data'}={dataset.fingerprint[:12]}",
        f"encoder={described}",
        ",".join(f"{name}={number}" for name, number in _versions().items()),
    ]
    return "|".join(parts)


def _digest(values: NDArray[Any]) -> str:
    return hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=8).hexdigest()


def _similarity_name(similarity: Callable[[Any, Any], float]) -> str:
    """Name a caller's own similarity by what it is called and, if it is written in Python, a hash of its code."""
    name, code = getattr(similarity, "__qualname__", type(similarity).__name__), getattr(similarity, "__code__", None)
    if code is None:
        return name
    described = repr((code.co_code, code.co_names, [each for each in code.co_consts if not isinstance(each, CodeType)]))
    return f"{name} {hashlib.blake2b(described.encode(), digest_size=4).hexdigest()}"


def make_result(
    task: Task,
    dataset: Dataset,
    scores: Scores,
    settings: Settings,
    encoder: Encoder,
    *,
    vectors: NDArray[np.float32],
    coverage: Mapping[str, float],
    timings: Mapping[str, float],
    performance: Mapping[str, float],
    seen: Mapping[str, Any] | None = None,
) -> Result:
    """Join scores with where they came from."""
    return Result(
        task=task.name,
        encoder=encoder.name,
        encoder_identity=encoder.identity,
        dimension=int(vectors.shape[1]),
        metrics=scores.metrics,
        headline=task.metrics,
        n_train=scores.n_train,
        n_test=scores.n_test,
        protocol=task.protocol_of(dataset, settings),
        probe=_probe_name(task, settings),
        seed=settings.seed,
        signature=signature_of(task, dataset, encoder, settings, vectors, scores.items.get("predicted")),
        synthetic=dataset.synthetic,
        notes=(*dataset.notes, *scores.notes),
        rejected=tuple(map(str, dataset.rejected)),
        files=dataset.files,
        label_names=dataset.label_names,
        coverage=coverage,
        timings=timings,
        performance=performance,
        versions={**_versions(), "python": platform.python_version()},
        items=scores.items,
        details=scores.details,
        senteval=scores.senteval,
        made=datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        input={**(seen or {}), "trained_on": declared_training(encoder, task)},
    )


def declared_training(encoder: Encoder, task: Task) -> str:
    """Return "yes" or "no" if the encoder declares whether it was trained on the task's data ("*": on any), else "unknown"."""
    declared: Mapping[str, str] = getattr(encoder, "trained_on", {})
    return declared.get(task.name, declared.get("*", "unknown"))


class SE:
    """SentEval's engine: ``SE(params, batcher, prepare).eval(task or list of tasks)``.

    ``params`` is a dictionary with SentEval's keys; ``task_path`` is required, every other key has SentEval's default, and
    keys that SentEval does not know reach ``prepare`` and ``batcher`` untouched. The one difference: without
    ``usepytorch`` the probe is the exact solver. ``task_options`` maps task names to their reading options. Results are
    SentEval's dictionaries, with the keys that SimCSE's fork adds; the last one is kept in ``results``, and the full Result
    objects (intervals, baselines, per-item predictions) in ``details``. What SentEval logs is logged here too.

    >>> from medsenteval.datasets.locate import sample_root
    >>> batcher = lambda params, batch: [[len(tokens), 1.0] for tokens in batch]
    >>> se = medsenteval.engine.SE({"task_path": sample_root()}, batcher)
    >>> sorted(se.eval("BIOSSES")), se.details["BIOSSES"].metric("pearson").n
    (['BIOSSES', 'all'], 100)
    """

    def __init__(
        self,
        params: Mapping[str, Any],
        batcher: Callable[[Any, list[list[str]]], Any],
        prepare: Callable[[Any, list[list[str]]], Any] | None = None,
    ) -> None:
        self.settings = Settings.from_senteval_params(params)
        # Scripts read these back from params, so SentEval's defaults are written into it.
        read = {"seed": self.settings.seed, "batch_size": self.settings.batch_size, "kfold": self.settings.folds, "nhid": 0}
        self.params = SentEvalParams({**read, **params})
        if not self.params.get("classifier"):
            self.params["classifier"] = {"nhid": 0}
        if "task_path" not in self.params:
            raise SettingsError("params['task_path'] is missing; it names the folder that holds MedNLI/, RQE/ and the others")
        self.batcher = batcher
        self.prepare = prepare
        self.list_tasks = list(registry.task_names())
        self.results: dict[str, Any] = {}
        self.details: dict[str, Result] = {}

    def eval(self, name: str | Sequence[str]) -> dict[str, Any]:
        """Evaluate one task and return its dictionary, or several and return a dictionary of dictionaries.

        Every name is looked up before the first task is scored.
        """
        if isinstance(name, str):
            self.results = self._evaluate(name, registry.task(name))
            return self.results
        collected: dict[str, Any] = {}
        for each, task in [(each, registry.task(each)) for each in name]:
            collected[each] = self._evaluate(each, task)
            # Kept as it grows, so that a task that fails does not take the finished ones with it.
            self.results = dict(collected)
        return collected

    def _evaluate(self, name: str, task: Task) -> dict[str, Any]:
        _log.debug("***** Transfer task : %s *****", name)
        dataset = load_dataset(task, data_root(self.params.task_path), self.settings)
        self.params.current_task = name
        # A batcher has no identity of its own; a user who names it in params takes the promise that it does not change.
        identity = str(self.params.get("encoder_identity") or "")
        encoder = BatcherEncoder(self.batcher, self.prepare, self.params, identity=identity, separator=dataset.separator)
        progress = _LoggedProgress()
        result = evaluate_task(task, dataset, encoder, self.settings, cache=EmbeddingCache(), progress=progress)
        self.details[name] = result
        scores = dict(result.senteval)
        if "yhat" in scores:
            scores["yhat"] = np.array(scores["yhat"])
        if penalties := result.details.get("penalties"):
            _log.info("Best param found is reg = %s with score %s", ", ".join(map(str, penalties)), scores.get("devacc"))
        for part, found in scores.items():
            if isinstance(found, dict) and "nsamples" in found:
                _log.debug("%s : pearson = %.4f, spearman = %.4f", part, found["pearson"][0], found["spearman"][0])
        numbers = {key: value for key, value in scores.items() if isinstance(value, (int, float))}
        _log.debug("%s for %s", ", ".join(f"{key} : {value}" for key, value in numbers.items()), name)
        return scores


class _LoggedProgress(Progress):
    """Logs what part of the texts is encoded at every tenth, as SentEval does."""

    def encoded(self, count: int) -> None:
        before = self.n_encoded
        super().encoded(count)
        if 10 * self.n_encoded // self.n_texts > 10 * before // self.n_texts:
            _log.info("PROGRESS (encoding): %.2f%%", 100 * self.n_encoded / self.n_texts)
