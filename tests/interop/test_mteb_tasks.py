"""Tasks of mteb's under our encoders: its own mock tasks, a small real retrieval task made offline, and our paired tests."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from medsenteval import registry
from medsenteval.comparison.bundle_verification import recomputed_score
from medsenteval.comparison.compare import compare_results
from medsenteval.contracts import Result
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.encoders.lexical import LexicalEncoder
from medsenteval.engine import evaluate_task
from medsenteval.errors import DataError, UnknownNameError
from medsenteval.settings import Settings
from medsenteval.statistics import Means, mean_share_interval, share_interval
from tests.conftest import lazily

mteb = lazily("mteb")
pytestmark = pytest.mark.slow

QUERIES = {"q1": "fever in children", "q2": "kidney stones", "q3": "heart attack treatment"}
CORPUS = {
    "d1": ("Fever", "High temperature in young children and infants."),
    "d2": ("Stones", "Treatment of stones of the kidney."),
    "d3": ("Infarction", "Aspirin after an attack of the heart."),
    "d4": ("Weather", "It will rain in the north."),
    "d5": ("Children", "Games for children."),
}
RELEVANT = {"q1": {"d1": 2, "d5": 1}, "q2": {"d2": 1}, "q3": {"d3": 1}}


@pytest.fixture(scope="module")
def retrieval() -> Any:
    """A retrieval task in mteb's own classes, with data that is not downloaded."""
    import datasets
    from mteb.abstasks.retrieval import AbsTaskRetrieval

    from medsenteval.encoders.mteb_model import mteb_metadata

    class SmallRetrieval(AbsTaskRetrieval):  # type: ignore[misc]
        metadata = mteb_metadata("SmallRetrieval", "made up", "Retrieval", "ndcg_at_10", "1")

        def load_data(self, *arguments: Any, **options: Any) -> None:
            rows = [{"id": key, "title": title, "text": text} for key, (title, text) in CORPUS.items()]
            queries = [{"id": key, "text": text} for key, text in QUERIES.items()]
            part = {
                "corpus": datasets.Dataset.from_list(rows),
                "queries": datasets.Dataset.from_list(queries),
                "relevant_docs": RELEVANT,
                "top_ranked": None,
            }
            self.dataset = {"default": {"test": part}}
            self.data_loaded = True

    return SmallRetrieval()


def scored(inner: Any, dimension: int = 512, **settings: Any) -> Result:
    from medsenteval.interop.mteb import as_task

    task, chosen = as_task(inner), Settings(resamples=200, **settings)
    dataset = load_dataset(task, Path(__file__).parent, chosen)
    return evaluate_task(task, dataset, LexicalEncoder(dimension), chosen)


def ndcg(ranked: list[str], relevant: dict[str, int]) -> float:
    """nDCG at 10 with gains as given, as trec_eval defines it."""
    gains = sum(relevant.get(name, 0) / np.log2(place + 2) for place, name in enumerate(ranked[:10]))
    ideal = sum(gain / np.log2(place + 2) for place, gain in enumerate(sorted(relevant.values(), reverse=True)[:10]))
    return float(gains / ideal)


def test_a_retrieval_task_keeps_the_score_of_every_query(retrieval: Any) -> None:
    result = scored(retrieval, 64)
    assert (result.task, result.protocol, result.headline) == ("mteb:SmallRetrieval", "mteb", ("ndcg_at_10",))
    encoder = LexicalEncoder(64)

    def unit(texts: list[str]) -> Any:
        rows = encoder.encode(texts).astype(float)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    documents = unit([f"{title} {text}" for title, text in CORPUS.values()])
    for place, (query, text) in enumerate(QUERIES.items()):
        order = [list(CORPUS)[row] for row in np.argsort(-(documents @ unit([text])[0]))]
        assert result.items["id"][place] == f"default/test/{query}"
        assert result.items["ndcg_at_10"][place] == pytest.approx(ndcg(order, RELEVANT[query]), abs=1e-9)
    metric = result.metric("ndcg_at_10")
    assert metric.value == pytest.approx(np.mean(result.items["ndcg_at_10"]))
    # Three queries say little, also where each is answered as well as it can be.
    low, high = mean_share_interval(np.array(result.items["ndcg_at_10"]), confidence=0.95)
    assert (metric.low, metric.high) == (low, high)
    assert metric.low < 0.8 * metric.value


def test_the_interval_of_a_mean_over_parts_has_the_error_of_each() -> None:
    from medsenteval.interop.mteb import _interval

    # Two queries in a part, ten in the next, one in the last: the sample variances are 0.5 and 0.24 * 10 / 9.
    values, parts = np.array([[0.0, 1, *[0, 1, 1, 0, 1, 1, 0, 1, 0, 1], 1]]), np.repeat([0, 1, 2], [2, 10, 1])
    found = _interval(Means.of(values, parts), 0.7, Settings())
    expected = share_interval(0.7, 13, confidence=0.95, variance=(0.5 / 2 + 0.24 / 9) / 9)
    assert found == pytest.approx(expected)
    assert found[0] < share_interval(0.7, 13, confidence=0.95)[0]


def test_paired_tests_take_mteb_tasks(retrieval: Any) -> None:
    one, other = scored(retrieval), replace(scored(retrieval, 8), encoder="small")
    (column,) = compare_results([one, other], resamples=200).columns
    assert (column.test, column.n_common) == ("paired bootstrap", 3)
    found = column.difference("lexical", "small")
    assert found is not None
    assert found.interval.estimate == pytest.approx(one.metrics[0].value - other.metrics[0].value)


def test_a_similarity_task_keeps_every_pair_as_ours_does() -> None:
    from medsenteval.interop.mteb import as_mteb_task

    settings = Settings(resamples=200, allow_incomplete=True)
    task = registry.task("BIOSSES")
    ours = evaluate_task(task, load_dataset(task, sample_root(), settings), LexicalEncoder(), settings)
    theirs, narrow = (scored(as_mteb_task("BIOSSES", settings=settings), dimension) for dimension in (512, 8))
    assert theirs.items["gold"] == ours.items["gold"]
    assert theirs.items["predicted"] == pytest.approx(ours.items["predicted"], abs=1e-6)
    metric, same = theirs.metric("spearman"), ours.metric("spearman")
    assert (metric.value, metric.low, metric.high) == pytest.approx((same.value, same.low, same.high), abs=1e-3)
    assert metric.low > -1
    assert recomputed_score(theirs, metric) == pytest.approx(metric.value, abs=1e-12)
    (column,) = compare_results([theirs, replace(narrow, encoder="narrow")], resamples=200).columns
    assert (column.test, column.n_common) == ("paired bootstrap", len(ours.items["id"]))


MOCKS = (("MockRetrievalTask", 4), ("MockSTSTask", 2), ("MockClassificationTask", 0), ("MockPairClassificationTask", 0))


@pytest.mark.parametrize(("name", "kept"), MOCKS)
def test_mock_tasks_score_as_mteb_does(name: str, kept: int) -> None:
    from mteb import mocks

    from medsenteval.interop.mteb import _parts, as_mteb_model

    inner = next(task for task in mocks.ALL_MOCK_TASK_TEST_GRID if type(task).__name__ == name)
    result = scored(inner)
    (there,) = mteb.evaluate(as_mteb_model(LexicalEncoder()), [inner], cache=None, show_progress_bar=False).task_results
    expected = np.mean([each["main_score"] for split in there.scores.values() for each in split])
    assert result.metrics[0].value == pytest.approx(expected, abs=2e-5)
    assert len(result.items.get("id", ())) == kept
    metric = result.metrics[0]
    assert metric.low < metric.value
    if name == "MockPairClassificationTask":
        labels = [label for _, _, data in _parts(inner) for label in data["labels"]]
        constant = average_precision_score(labels, np.zeros(len(labels)))
        assert metric.baseline == pytest.approx(constant)
    if name == "MockSTSTask":
        assert (metric.low, metric.high) == (-1.0, 1.0)  # two pairs
    if name == "MockClassificationTask":
        assert (metric.low, metric.high) == (0.0, 1.0)  # nothing is known item by item
        labels = [label for _, _, data in _parts(inner) for label in data["label"]]
        assert metric.baseline == pytest.approx(max(map(labels.count, labels)) / len(labels))
    assert any("no answers item by item" in note for note in result.notes) == (kept == 0)


def test_tasks_are_found_by_name_and_unknown_ones_are_refused() -> None:
    task = registry.task("mteb:NFCorpus")
    assert (task.name, task.metrics) == ("mteb:NFCorpus", ("ndcg_at_10",))
    assert [each.name for each in registry.select_tasks("BIOSSES,mteb:NFCorpus")] == ["BIOSSES", "mteb:NFCorpus"]
    with pytest.raises(UnknownNameError, match="mteb has no task 'NoSuchThing'"):
        registry.task("mteb:NoSuchThing")


def test_a_part_of_a_task_is_refused(retrieval: Any) -> None:
    with pytest.raises(DataError, match="leave out --limit"):
        scored(retrieval, limit=2)


@pytest.mark.parametrize(("beside", "refused"), [(-1e-5, False), (1e-5, False), (3e-5, True), (-3e-5, True)])
def test_answers_that_are_not_those_behind_mtebs_score_are_refused(
    retrieval: Any, monkeypatch: pytest.MonkeyPatch, beside: float, refused: bool
) -> None:
    from medsenteval.interop import mteb as bridge

    read = bridge._items

    def moved(*arguments: Any) -> Any:
        items, score = read(*arguments)
        assert isinstance(score, Means)
        return items, Means.of(score.values + beside)

    monkeypatch.setattr(bridge, "_items", moved)
    with pytest.raises(DataError, match="and the answers that it keeps give") if refused else nullcontext():
        scored(retrieval)


def test_the_interval_over_several_parts_is_that_of_the_mean_of_their_means() -> None:
    from medsenteval.interop.mteb import _interval

    # A part of two queries that disagree, and nine more queries: fewer trials than there are queries.
    parts = [np.array([0.0, 1.0]), np.linspace(0.5, 0.9, 8), np.array([1.0])]
    score = Means.of(np.concatenate(parts), np.repeat([0, 1, 2], [2, 8, 1]))
    variance = (parts[0].var(ddof=1) / 2 + parts[1].var(ddof=1) / 8) / 9
    assert 0.24 / variance < 9
    expected = share_interval(0.6, 11, confidence=0.95, variance=variance)
    assert _interval(score, 0.6, Settings()) == pytest.approx(expected)
