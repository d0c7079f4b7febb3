"""What is read of mteb's tasks and made of its answers, shown on made-up tasks, without mteb."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from medsenteval.contracts import Dataset, Embeddings, Split
from medsenteval.encoders.lexical import LexicalEncoder
from medsenteval.errors import DataError, DataMissingError
from medsenteval.interop.mteb import MtebDataset, _best_constant, _items, _pairs, _parts, as_task
from medsenteval.settings import Settings


class Rows(dict[str, Any]):
    """Columns, as a data set of the hub has them."""

    @property
    def column_names(self) -> list[str]:
        return list(self)


def inner(dataset: dict[str, Any], main_score: str = "ndcg_at_10", **about: Any) -> Any:
    facts: dict[str, Any] = {"type": "Retrieval", "bibtex_citation": "", "reference": None, "license": None, **about}
    metadata = SimpleNamespace(name="Mine", main_score=main_score, dataset={"path": "p", "revision": "1"}, **facts)
    return SimpleNamespace(
        metadata=metadata, hf_subsets=["en", "de"], eval_splits=["dev", "test"], dataset=dataset, load_data=lambda: None
    )


def test_a_task_has_the_facts_that_mteb_states() -> None:
    bare, full = (
        as_task(inner({}, **about))
        for about in ({}, {"main_score": "cosine_spearman", "type": "STS", "reference": "r", "license": "mit"})
    )
    assert (bare.name, bare.family, bare.protocol, bare.metrics) == ("mteb:Mine", "mteb Retrieval", "mteb", ("ndcg_at_10",))
    assert (bare.citation, bare.licence, bare.uses_probe, bare.folders) == ("", "not stated", False, ())
    assert (full.family, full.metrics, full.citation, full.licence) == ("mteb STS", ("spearman",), "r", "mit")
    assert as_task(inner({}, bibtex_citation="b", reference="r")).citation == "b"


def test_queries_or_all_columns_of_texts_are_read_once_each() -> None:
    columns = Rows(id=["i"], _id=["j"], sentence=["b", "a", "b"], label=[1, 2, 3])
    queries = {"queries": Rows(id=["q1"], text=["asked"]), "corpus": Rows(text=["not asked"])}
    found = as_task(inner({"en": {"test": columns}, "de": {"dev": queries}, "fr": {"test": Rows(text=["no"])}})).read(
        Path(), {}
    )
    assert list(found.all_texts()) == ["b", "a", "asked"]
    assert found.splits["test"].ids == ("0", "1", "2")
    # Without subsets the splits stand by themselves.
    plain = {"test": Rows(text=["x"]), "train": Rows(text=["y"])}
    assert [(subset, split) for subset, split, _ in _parts(inner(plain))] == [("en", "test"), ("de", "test")]
    assert list(as_task(inner(plain)).read(Path(), {}).all_texts()) == ["x"]
    with pytest.raises(DataError, match="no text was found in its data; is it a task on images or sound"):
        as_task(inner({"test": Rows(image=[b"x"])})).read(Path(), {})

    def absent() -> None:
        raise OSError("no network")

    with pytest.raises(DataMissingError, match=r"^mteb:Mine: mteb cannot load the data: no network$"):
        as_task(SimpleNamespace(**{**vars(inner({})), "load_data": absent})).read(Path(), {})


def test_the_name_and_revision_of_the_data_are_in_its_fingerprint() -> None:
    split = {"test": Split(("0",), ("a",))}
    tasks = [inner({}), inner({})]
    tasks[1].metadata.dataset = {"path": "p", "revision": "2"}
    one, other = (MtebDataset("mteb:Mine", split, inner=each) for each in tasks)
    assert len({one.fingerprint, other.fingerprint, Dataset("mteb:Mine", split).fingerprint}) == 3
    encoder = LexicalEncoder(16)
    assert one.for_encoder(encoder).encoder is encoder
    assert one.for_encoder(encoder).fingerprint == one.fingerprint
    task = as_task(tasks[0])
    with pytest.raises(DataError, match="mteb encodes itself and needs the encoder"):
        task.evaluate(task, one, Embeddings(np.ones((1, 2), dtype=np.float32), {"a": 0}), Settings())


@pytest.mark.parametrize(
    ("main_score", "columns", "expected"),
    [
        ("accuracy", {"label": [0, 1, 1, 1]}, 0.75),
        ("max_accuracy", {"label": [[0, 0, 1]]}, 2 / 3),
        ("max_ap", {"label": [0, 1, 0, 0]}, 0.25),
        ("cosine_ap", {"label": [[1, 1, 0, 0]]}, 0.5),
        ("accuracy", {"other": [1]}, 0.0),
        ("f1", {"label": [0, 1, 1, 1]}, 0.0),
        ("ndcg_at_10", {"label": [1]}, 0.0),
    ],
)
def test_the_best_constant_answer(main_score: str, columns: dict[str, Any], expected: float) -> None:
    task = inner({"en": {"test": Rows(columns)}}, main_score)
    assert _best_constant(task) == pytest.approx(expected)
    if expected == 0.75:
        two = inner({"en": {"test": Rows(columns)}, "de": {"test": Rows(label=[0, 1])}}, main_score)
        assert _best_constant(two) == pytest.approx((0.75 + 0.5) / 2)
        renamed = SimpleNamespace(**{**vars(task), "label_column_name": "class"})
        renamed.dataset = {"en": {"test": Rows({"class": [1, 1, 1, 0, 0]})}}
        assert _best_constant(renamed) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("main", "key"),
    [("ndcg_at_10", "ndcg_cut_10"), ("map_at_1000", "map_cut_1000"), ("recall_at_5", "recall_5"), ("precision_at_1", "P_1"),
     ("hit_rate_at_3", "success_3")],
)  # fmt: skip
def test_the_answers_to_queries_are_items_by_part(main: str, key: str) -> None:
    by_query = {"en/test/a": {key: 1.0}, "de/test/b": {key: 0.5}, "en/test/c/d": {key: 0.25}}
    # The part of a query ends at its last slash.
    items, score = _items(main, main, by_query)
    assert items == {"id": list(by_query), main: [1.0, 0.5, 0.25], "fold": [0, 1, 2]}
    assert score is not None
    assert float(score(np.ones((1, 3)))[0, 0]) == pytest.approx((1.0 + 0.5 + 0.25) / 3)
    for other in ({}, {"en/test/a": {key: 1.0}, "en/test/b": {"map": 1.0}}):
        assert _items(main, main, other) == ({}, None)
    for unknown in ("accuracy", "mrr_at_10", "v_measure"):
        assert _items(unknown, unknown, by_query) == ({}, None)


def test_the_cosines_of_pairs_are_items_where_there_is_one_part(tmp_path: Path) -> None:
    cosines, gold = [0.5, 0.25, 1.0], [2.0, 1.0, 0.0]
    folder = tmp_path / "folder"
    folder.mkdir()
    task = inner({"en": {"test": Rows(score=gold)}}, "cosine_spearman", type="STS")
    assert _pairs(task, folder) == []
    stored = {part: {"test": {"cosine_scores": cosines, "euclidean_distances": [1, 2, 3]}} for part in ("en", "de")}
    (folder / "Mine_predictions.json").write_text(json.dumps({"mteb_model_meta": {}, **stored}), "utf-8")
    pairs = _pairs(task, folder)
    assert pairs == [(cosines, gold)]
    items, score = _items("cosine_spearman", "spearman", {}, pairs)
    assert items == {"id": ["0", "1", "2"], "gold": gold, "predicted": cosines}
    assert score is not None
    assert float(score(np.ones((1, 3)))[0, 0]) == pytest.approx(-0.5)
    assert _items("manhattan_spearman", "manhattan_spearman", {}, pairs) == ({}, None)
    task.dataset["de"] = task.dataset["en"]
    assert _items("cosine_spearman", "spearman", {}, _pairs(task, folder)) == ({}, None)
