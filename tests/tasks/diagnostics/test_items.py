"""The bundled items are enough, distinct, and changed as their test says."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from medsenteval import registry
from medsenteval.errors import DataError
from medsenteval.registry import TASK_GROUPS
from medsenteval.tasks.diagnostics.items import (
    _FOLDER,
    ABBREVIATION_ITEMS,
    CHANGES,
    FUNCTION_WORDS,
    KNOWLEDGE_ITEMS,
    LISTS,
    Item,
    read_items,
)


@pytest.mark.parametrize("name", CHANGES)
def test_a_test_has_a_hundred_distinct_items_that_change(name: str) -> None:
    items = CHANGES[name]
    assert len(items) >= 100
    assert len({item["text"] for item in items}) == len({item["id"] for item in items}) == len(items)
    assert all(item["text"] != item["changed"] for item in items)
    assert not any("{" in item["text"] + item["changed"] for item in items)
    assert name in TASK_GROUPS["diagnostics"]


def test_function_words_go_and_everything_else_stays() -> None:
    for item in CHANGES["FunctionWords"]:
        left = iter(item["changed"].split())
        expected = [word for word in item["text"].split() if word.strip(".,").lower() not in FUNCTION_WORDS]
        assert list(left) == expected
        assert len(expected) < len(item["text"].split()) - 3
    assert not FUNCTION_WORDS & {"no", "not"}


def test_word_order_keeps_the_words_and_typos_keep_the_letters() -> None:
    for item in CHANGES["WordOrder"]:
        words, changed = (text.lower().strip(".").split() for text in (item["text"], item["changed"]))
        assert Counter(words) == Counter(changed)
    for item in CHANGES["Typos"]:
        assert Counter(item["text"]) == Counter(item["changed"])
        pairs = list(zip(item["text"].split(), item["changed"].split(), strict=True))
        assert all(word[0] == changed[0] for word, changed in pairs)
        assert 1 <= sum(word != changed for word, changed in pairs) < len(pairs) / 2
    assert all(item["changed"] == item["text"].upper() for item in CHANGES["CaseNoise"])


@pytest.mark.parametrize("name", ["LateralitySwap", "DoseSwap", "DrugSwap", "NegationFlip"])
def test_a_swap_leaves_the_rest_of_the_sentence(name: str) -> None:
    for item in CHANGES[name]:
        words, changed = item["text"].split(), item["changed"].split()
        kept = sum((Counter(words) & Counter(changed)).values())
        assert kept >= len(words) - 3


def test_inferences_have_every_label_and_relation() -> None:
    assert len(ABBREVIATION_ITEMS) >= 100
    assert len(KNOWLEDGE_ITEMS) >= 100
    for items in (ABBREVIATION_ITEMS, KNOWLEDGE_ITEMS):
        labels = Counter(item["label"] for item in items)
        assert set(labels.values()) == {len(items) / 3}
        assert len({item["id"] for item in items}) == len(items)
    assert {item["relation"] for item in KNOWLEDGE_ITEMS} == {"disease-symptom", "drug-disease", "drug-drug"}
    for item in ABBREVIATION_ITEMS:
        short = item["id"].rpartition("-")[0]
        assert item["expanded"] == item["premise"].replace(short, LISTS.abbreviations[short])


def test_the_items_are_those_of_their_tasks_versions(tmp_path: Path) -> None:
    """Scores on other items do not compare: who changes an item gives its task another version, and changes this."""
    made: dict[str, Sequence[Item]] = {
        **{name: read_items(tmp_path, name, items)[0] for name, items in CHANGES.items()},
        "Abbreviations": ABBREVIATION_ITEMS,
        "MedicalKnowledge": KNOWLEDGE_ITEMS,
    }
    parts = dict.fromkeys(CHANGES, ("id", "text", "changed"))
    found = {}
    for name, items in made.items():
        of = parts.get(name, ("id", "premise", "hypothesis", "label", "expanded", "relation"))
        said = json.dumps([[item.get(part, "") for part in of] for item in items])
        found[f"{name}@{registry.task(name).version}"] = hashlib.sha256(said.encode()).hexdigest()[:12]
    assert found == {
        "FunctionWords@1": "6f3b1397bca3",
        "NegationFlip@1": "948c17e4d5ad",
        "DrugSwap@1": "dbd12084c1e4",
        "DoseSwap@1": "46d7c1a9c6d0",
        "LateralitySwap@1": "b7c3db024b57",
        "WordOrder@1": "8c05930d29b2",
        "Typos@1": "48857f22eee2",
        "CaseNoise@1": "d68394592332",
        "Abbreviations@1": "8a974195888b",
        "MedicalKnowledge@1": "3f49d811bb43",
    }


def test_own_items_take_the_place_of_the_bundled_ones(tmp_path: Path) -> None:
    folder = tmp_path / _FOLDER
    folder.mkdir()
    bundled = CHANGES["Typos"]
    assert read_items(tmp_path, "Typos", bundled) == (bundled, ())
    (folder / "Typos.json").write_text(json.dumps([{"text": "a  b", "changed": "b a"}, {"id": 7, "text": "c", "changed": "d"}]))
    assert read_items(tmp_path, "Typos", bundled) == (
        [{"id": "item 1", "text": "a b", "changed": "b a"}, {"id": "7", "text": "c", "changed": "d"}],
        (f"{_FOLDER}/Typos.json",),
    )
    labels = ("entailment", "neutral")
    (folder / "K.json").write_text(json.dumps([{"premise": "p", "hypothesis": "h", "label": "neutral", "relation": "r"}]))
    assert read_items(tmp_path, "K", KNOWLEDGE_ITEMS, labels) == (
        [{"id": "item 1", "premise": "p", "hypothesis": "h", "label": "neutral", "relation": "r"}],
        (f"{_FOLDER}/K.json",),
    )
    assert read_items(tmp_path, "None", KNOWLEDGE_ITEMS, labels) == (KNOWLEDGE_ITEMS, ())
    with pytest.raises(DataError, match=r"K\.json: item 1: unknown label 'neutral'; known: entailment"):
        read_items(tmp_path, "K", KNOWLEDGE_ITEMS, labels[:1])
    with pytest.raises(DataError, match="item 1: expanded must be texts; an item has premise, hypothesis, label, expanded"):
        read_items(tmp_path, "K", ABBREVIATION_ITEMS, labels)
    for content in ("[]", "{}", '[{"text": "a", "changed": "b"}, 3]'):
        (folder / "Typos.json").write_text(content)
        with pytest.raises(DataError, match="expected a list of objects, one an item, and at least one"):
            read_items(tmp_path, "Typos", bundled)
    (folder / "Typos.json").write_text('[{"text": "a", "changed": "b"}, {"text": " ", "changed": 3}]')
    with pytest.raises(DataError, match="item 2: text, changed must be texts; an item has text, changed"):
        read_items(tmp_path, "Typos", bundled)
