"""Our tasks inside upstream SentEval: our readers and features, its engine, its classifiers, its validation.

    from medsenteval.interop.upstream_senteval import engine

    se = engine(params, batcher, prepare)          # upstream's senteval.engine.SE with more tasks
    se.eval(["MR", "MedNLI", "RQE", "BIOSSES"])    # upstream's own names are upstream's own tasks

SentEval is not on PyPI: clone facebookresearch/SentEval and put it on PYTHONPATH. It needs patches on current Python and NumPy,
and a GPU unless ``usepytorch`` is False; docs/general-tasks.md lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval import registry
from medsenteval.contracts import Dataset, Split, Task
from medsenteval.datasets.locate import data_root, load_dataset
from medsenteval.errors import SettingsError
from medsenteval.probes.features import combined
from medsenteval.settings import Settings
from medsenteval.statistics import f1_from_counts
from medsenteval.support.arrays import Reals
from medsenteval.tasks.probe_rows import probe_splits, stacked_parts
from medsenteval.tasks.similarity import correlate_parts

#: Any setting whose probe follows SentEval in the order of rows and of pair features.
_PARITY: Final = Settings(probe="sklearn")

_NO_GPU: Final = (
    "there is no GPU; set usepytorch to False, or let senteval/tools/classifier.py use the device 'cpu' and no .cuda()"
)
#: What upstream says when it breaks on current versions -> why, and the patch.
_BREAKAGES: Final = {
    "inhomogeneous shape": "NumPy 1.24 and later make no array of lists of different lengths; in senteval/sts.py write "
    "np.array([s.split() for s in sent1], dtype=object), and likewise for sent2",
    "getargspec": "Python 3.11 has no inspect.getargspec; in senteval/utils.py write inspect.getfullargspec",
    "compiled with CUDA": _NO_GPU,
    "NVIDIA driver": _NO_GPU,
    "torch.cuda required": "its regression of SICK-R and STSBenchmark needs a GPU; ours runs on the CPU (run -t SICK-R)",
}

Batcher = Callable[[Any, list[list[str]]], NDArray[np.floating]]


def engine(params: Mapping[str, Any], batcher: Batcher, prepare: Callable[[Any, list[list[str]]], Any] | None = None) -> Any:
    """Return upstream's engine with all of our tasks beside its own; ``params.task_path`` is searched for the data of both."""
    upstream: Any = _upstream("senteval.engine").SE

    class Engine(upstream):  # type: ignore[misc]
        """Upstream's SE; a name that upstream does not know is looked up among our tasks."""

        def eval(self, name: str | list[str]) -> Any:
            if isinstance(name, list):
                self.results = {each: self.eval(each) for each in name}
                return self.results
            if name in self.list_tasks:
                with _readable_breakages():
                    return super().eval(name)
            task = registry.task(name)
            chosen = Settings(allow_incomplete=bool(self.params.get("allow_incomplete")))
            dataset = load_dataset(task, data_root(self.params.task_path), chosen)
            self.evaluation = UpstreamEvaluation(task, dataset, self.params.seed)
            self.params.current_task = name
            self.evaluation.do_prepare(self.params, self.prepare)
            with _readable_breakages():
                self.results = self.evaluation.run(self.params, self.batcher)
            return self.results

    return Engine(params, batcher, prepare)


def _upstream(module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"upstream SentEval cannot be imported ({error}); put a clone of facebookresearch/SentEval on PYTHONPATH"
        ) from error


@contextmanager
def _readable_breakages() -> Iterator[None]:
    """Turn errors of upstream's own code on current versions into what to do about them; others pass."""
    try:
        yield
    except (ValueError, AttributeError, AssertionError, RuntimeError) as error:
        patch = next((patch for said, patch in _BREAKAGES.items() if said in str(error)), "")
        if not patch:
            raise
        raise SettingsError(f"upstream SentEval breaks here ({type(error).__name__}: {error}): {patch}") from error


@contextmanager
def _recorded(validation: Any) -> Iterator[list[tuple[Any, Any]]]:
    """Keep labels and predictions of whatever upstream's classifiers are asked to score; its nested folds return none."""
    kept: list[tuple[Any, Any]] = []
    originals = {name: getattr(validation, name) for name in ("LogisticRegression", "MLP") if hasattr(validation, name)}

    def recording(base: Any) -> Any:
        class Recording(base):  # type: ignore[misc]
            def score(self, X: Any, y: Any) -> Any:
                # In its training loop upstream scores tensors; those are no folds.
                if isinstance(X, np.ndarray):
                    kept.append((np.asarray(y), np.ravel(self.predict(X))))
                return super().score(X, y)

        return Recording

    for name, base in originals.items():
        setattr(validation, name, recording(base))
    try:
        yield kept
    finally:
        for name, base in originals.items():
            setattr(validation, name, base)


class UpstreamEvaluation:
    """One of our tasks in the shape of SentEval's evaluations: ``do_prepare`` and ``run``."""

    def __init__(self, task: Task, dataset: Dataset, seed: int) -> None:
        if task.protocol not in ("split", "kfold", "nested", "cosine"):
            raise SettingsError(f"{task.name}: SentEval has no protocol for {task.protocol!r} that could run it")
        self.task = task
        self.seed = seed
        self.label_names = dataset.label_names
        self.parts = stacked_parts(task, _PARITY)
        self.splits = probe_splits(task, dataset, _PARITY)

    def do_prepare(self, params: Any, prepare: Callable[[Any, list[list[str]]], Any]) -> Any:
        texts = [text.split() for split in self.splits.values() for text in split.all_texts()]
        return prepare(params, texts)

    def run(self, params: Any, batcher: Batcher) -> dict[str, Any]:
        if self.task.protocol == "cosine":
            return self._run_similarity(params, batcher)
        validation = _upstream("senteval.tools.validation")
        inputs = {name: self._features(split, params, batcher) for name, split in self.splits.items()}
        labels = {name: _labels(split) for name, split in self.splits.items()}
        config = {
            "nclasses": len(self.label_names),
            "seed": self.seed,
            "usepytorch": params.usepytorch,
            "classifier": {**params.classifier, **{k: v for k, v in self.task.training.items() if k != "noreg"}},
            "nhid": params.nhid,
            "kfold": params.kfold,
            **({"noreg": True} if self.task.training.get("noreg") else {}),
        }
        if self.task.protocol == "nested":
            (rows,), (targets,) = inputs.values(), labels.values()
            with _recorded(validation) as kept:
                dev, accuracy = validation.InnerKFoldClassifier(rows, targets, config).run()
            result = {"devacc": dev, "acc": accuracy, "ndev": len(targets), "ntest": len(targets)}
            if self.task.positive_label is not None:
                result["f1"] = result["F1score"] = self._nested_f1(kept, len(targets), params.kfold)
            return result
        if self.task.protocol == "kfold":
            train, test = ({"X": inputs[name], "y": labels[name]} for name in ("train", "test"))
            dev, accuracy, predicted = validation.KFoldClassifier(train, test, config).run()
            result = {"devacc": dev, "acc": accuracy, "ndev": len(labels["train"]), "ntest": len(labels["test"])}
            if self.task.positive_label is not None:
                positive = self.label_names.index(self.task.positive_label)
                result["f1"] = _f1(labels["test"] == positive, np.ravel(predicted) == positive)
            return result
        names = {"train": "train", "valid": "dev", "test": "test"}
        dev, accuracy = validation.SplitClassifier(
            X={name: inputs[ours] for name, ours in names.items()},
            y={name: labels[ours] for name, ours in names.items()},
            config=config,
        ).run()
        return {"devacc": dev, "acc": accuracy, "ndev": len(labels["dev"]), "ntest": len(labels["test"])}

    def _nested_f1(self, kept: list[tuple[Any, Any]], n: int, folds: int) -> float:
        """Return the mean of the outer folds' F1, as MedSentEval reports it; each is scored after its inner folds."""
        positive = self.label_names.index(self.task.positive_label or "")
        outer = kept[len(kept) // folds - 1 :: len(kept) // folds] if len(kept) >= folds else []
        if len(outer) != folds or sum(len(gold) for gold, _ in outer) != n:
            raise SettingsError(
                f"{self.task.name}: this version of SentEval does not score {folds} outer folds in turn, so F1 is unknown"
            )
        return round(float(np.mean([_f1(gold == positive, predicted == positive) for gold, predicted in outer])), 2)

    def _run_similarity(self, params: Any, batcher: Batcher) -> dict[str, Any]:
        """Score each split as upstream scores a subset of STS12 to STS16."""
        similarity = params.similarity or _upstream("senteval.utils").cosine
        parts = {}
        for name, split in self.splits.items():
            left, right = (_encode(column, params, batcher) for column in (split.texts, split.texts2 or ()))
            with np.errstate(invalid="ignore", divide="ignore"):
                predicted = np.array(
                    [np.nan_to_num(similarity(u, v)) for u, v in zip(left, right, strict=True)], dtype=np.float64
                )
            assert split.scores is not None
            key = self.task.senteval_name or self.task.name if len(self.splits) == 1 else name
            parts[key] = (predicted, split.scores)
        return correlate_parts(parts)

    def _features(self, split: Split, params: Any, batcher: Batcher) -> Reals:
        rows = _encode(split.texts, params, batcher)
        if split.texts2 is None:
            return rows
        return combined(self.parts, rows, _encode(split.texts2, params, batcher))


def _labels(split: Split) -> NDArray[np.int64]:
    assert split.labels is not None
    return split.labels


def _f1(gold: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> float:
    cells = [np.sum(gold & predicted), np.sum(~gold & predicted), np.sum(gold & ~predicted)]
    return round(100 * float(f1_from_counts(np.array(cells, dtype=np.float64))), 2)


def _encode(texts: Sequence[str], params: Any, batcher: Batcher) -> Reals:
    tokens = [text.split() for text in texts]
    size = params.batch_size
    return np.vstack([batcher(params, tokens[start : start + size]) for start in range(0, len(tokens), size)])
