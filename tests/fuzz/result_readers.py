"""Stored results of every family of tasks, mutated as JSON, and all that reads them: tables, comparisons, pages, exports."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from medsenteval.comparison.common_pairs import common_pairs
from medsenteval.comparison.compare import compare_results
from medsenteval.comparison.domain_gap import domain_gaps
from medsenteval.comparison.prediction import columns_of_results
from medsenteval.comparison.word_subsets import subset_scores
from medsenteval.contracts import Metric, Result
from medsenteval.datasets.locate import sample_root
from medsenteval.errors import MedSentEvalError
from medsenteval.interop.model_card import model_card_block
from medsenteval.interop.mteb_results import export_results, read_mteb_folder, to_mteb
from medsenteval.report.comparison_table import FORMATS, render_comparison
from medsenteval.report.learning_curve_table import curve_points, render_curves
from medsenteval.report.page_content import Page, PageOptions
from medsenteval.report.page_html import render_page
from medsenteval.running.plan import estimate_job, in_words
from medsenteval.running.rescoring import read_again
from medsenteval.running.result_store import ResultStore, load_results
from medsenteval.running.score_table import detail_table, score_table
from tests.comparison.simulated import accuracy_result, correlation_result, simulated_result
from tests.fuzz.mutating import mutate
from tests.fuzz.reader import Reader, as_json
from tests.report.made_up import analogy_result

__all__ = ["HOSTILE_VALUES", "RESULTS", "RESULT_READERS", "mutate_json", "places", "replaced", "use"]

#: What a field may be instead of what it should be.
HOSTILE_VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, -1, 2.5, 1e300, -1e300, 1e-320, 2**53, 2**63, 10**400, float("nan"), float("inf"), "", "x",
    "../../../x", "\0", "\x1b[2J", "a\nb", "=1+1", "\ud800", "9" * 300, [], [None], [1], ["x"], [[1]], [{}], {}, {"x": None},
    {"x": 1}, {"x": "y"}, {"x": {"y": 1}}, {"x": {"y": "z"}}, [0] * 12, ["x"] * 12, [0.5] * 12, [-1] * 12, [99] * 12,
    [10**30] * 12, [1e308] * 12, [[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]], "percent", "acc", ["acc"],
    {"a": {"acc": 1}}, "PICO", "file:/etc/passwd", "file:../../x.csv", "hf:a/b", "mteb:x", "PICO@1|limit=x|data=1|encoder=m",
    "PICO@1|limit=-1|encoder=m", "kfold-99999999999999999999999", "nested-5-fraction-0.1-draws-3", "shots-8-draws-10", "cosine",
)  # fmt: skip


def _results() -> dict[str, Result]:
    gold = [0, 1, 2] * 4
    wrong = [0, 1, 1] * 4
    scores = [0.5 * i for i in range(12)]
    costs = {
        "timings": {"read": 0.1, "encode": 1.0, "fit": 0.5},
        "performance": {"texts": 24, "texts_encoded": 24, "peak_memory_mb": 90.0},
        "coverage": {"zero_vectors": 0.0},
    }
    words = {"first": [f"w{i}" for i in range(12)], "second": [f"v{i}" for i in range(12)]}
    similar = correlation_result("Bio-SimLex", "mine", scores, scores[1:] + scores[:1], **costs)
    counts = {f"{kind}_1": [1] * 12 for kind in ("tp", "fp", "fn")}
    tags = {"id": [str(i) for i in range(12)], "gold": ["x"] * 12, "predicted_1": ["y"] * 12, **counts}
    entity_f1 = Metric("f1", 50.0, 40.0, 60.0, 10.0, "percent", 12)
    folds = {"label_names": ("a", "b", "c"), "notes": ("a note",), **costs}
    classes = accuracy_result("PICO", "mine", gold, wrong, **folds)
    positive = Metric("f1", 60.0, 50.0, 70.0, 40.0, "percent", 12)
    asks = {"label_names": ("false", "true"), "protocol": "split-fraction-0.1-draws-3"}
    return {
        "classes": replace(classes, items={**classes.items, "fold": [0, 1] * 6, "probability": scores}),
        "yes or no": (yes_no := accuracy_result("RQE", "mine", [0, 1] * 6, [1, 1] * 6, **asks)),
        "yes or no, F1": replace(yes_no, protocol="split", metrics=(*yes_no.metrics, positive), headline=("acc", "f1")),
        "words": replace(similar, items={**similar.items, **words}, details={"pairs": 13, "unknown_pairs": ["3"]}),
        "subsets": replace(similar, task="STS12", items={**similar.items, "subset": ["a", "b"] * 6}),
        "relations": analogy_result("mine", {"r1": 0.5, "r2": 0.25, "r3": 0.75}),
        "tags": simulated_result("AnatEM", "mine", [entity_f1], tags, details={"runs": {"f1": [50.0]}}),
    }


#: One small result of each family.
RESULTS: Final = _results()


def use(results: Sequence[Result], folder: Path, page: bool = True, again: bool = False) -> None:
    """Do everything that the toolkit does with stored results; its own errors are fine, all others are defects."""
    first = results[0]
    in_words(estimate_job(results, (first.encoder, first.encoder_identity), first.task, first.probe, 100, 50) or 0.0)
    comparison = compare_results(results, resamples=100)
    rendered = [detail_table(results), score_table(results)]
    rendered += [render_comparison(comparison, style) for style in FORMATS]
    for text in rendered:
        text.encode("utf-8")
    values = {f"{letter}{i}": float(i) for i in range(12) for letter in "wv"}
    for more in (
        lambda: render_curves(curve_points(results)),
        lambda: common_pairs(results, resamples=100),
        lambda: domain_gaps(results),
        lambda: columns_of_results(results),
        lambda: subset_scores(results, values, resamples=100),
        lambda: export_results(results, folder),
        lambda: model_card_block([replace(first, synthetic=False)]),
        lambda: read_again(first, sample_root()) if again else None,
        lambda: render_page(Page(results, [], PageOptions(resamples=100))).encode("utf-8") if page else None,
    ):
        with suppress(MedSentEvalError):
            more()


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a JSON value with another one in one place."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(copy[path[0]], path[1:], new)
    return copy


def mutate_json(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Put something else in the place of one to three values, take one away, or change bytes."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return mutate(content, rng, others)
    if rng.random() < 0.1:
        return mutate(content, rng, others)
    for _ in range(rng.choice((1, 1, 2, 3))):
        known = places(value)
        path = rng.choice([place for place in known if len(place) < 3] or known) if rng.random() < 0.6 else rng.choice(known)
        choice = rng.random()
        if choice < 0.1 and path and isinstance(parent := _at(value, path[:-1]), dict):
            value = replaced(value, path[:-1], {key: each for key, each in parent.items() if key != path[-1]})
        elif choice < 0.2:
            value = replaced(value, path, _at(value, rng.choice(known)))
        else:
            alike = [each for each in HOSTILE_VALUES if type(each) is type(_at(value, path))]
            value = replaced(value, path, rng.choice(alike if alike and rng.random() < 0.7 else HOSTILE_VALUES))
    return json.dumps(value).encode()


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


_OLD_MTEB: Final = {"mteb_dataset_name": "BIOSSES", "test": {"cos_sim": {"spearman": 0.5}, "evaluation_time": 3.0}}


def _read(name: str) -> Any:
    own = RESULTS[name]
    other = replace(own, encoder="other", encoder_identity="other-1", signature=own.signature.replace("mine-1", "other-1"))

    def read(folder: Path) -> Any:
        content = b"".join(path.read_bytes() for path in folder.rglob("r.json"))
        found = ResultStore(folder).results()
        # A page takes a hundred times as long as all else, and reading the data ten times.
        drawn = hashlib.sha256(content).digest()
        if found:
            use([*found, other], folder / "out", page=drawn[0] == 0, again=drawn[1] < 16)
        return load_results([str(folder / "r.json")], folder)

    return read


RESULT_READERS: Final = (
    *(
        Reader(f"result: {name}", {"r.json": as_json(result.to_json())}, _read(name), mutate=mutate_json)
        for name, result in RESULTS.items()
    ),
    Reader(
        "mteb result",
        {"m/r/new.json": as_json(to_mteb(RESULTS["words"])), "m/r/old.json": as_json(_OLD_MTEB)},
        read_mteb_folder,
        mutate=mutate_json,
    ),
)
