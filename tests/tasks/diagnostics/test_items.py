"""The bundled items are enough, distinct, and changed as their test says."""

from __future__ import annotations

from collections import Counter

import pytest

from medsenteval.catalogue import TASK_GROUPS
from medsenteval.tasks.diagnostics.items import ABBREVIATION_ITEMS, CHANGES, KNOWLEDGE_ITEMS
from medsenteval.tasks.diagnostics.wordlists import ABBREVIATIONS, FUNCTION_WORDS


@pytest.mark.parametrize("name", CHANGES)
def test_a_test_has_a_hundred_distinct_items_that_change(name: str) -> None:
    items = CHANGES[name]
    assert len(items) >= 100
    assert len({item.text for item in items}) == len({item.item for item in items}) == len(items)
    assert all(item.text != item.changed for item in items)
    assert not any("{" in item.text + item.changed for item in items)
    assert name in TASK_GROUPS["diagnostics"]


def test_function_words_go_and_everything_else_stays() -> None:
    for item in CHANGES["FunctionWords"]:
        left = iter(item.changed.split())
        expected = [word for word in item.text.split() if word.strip(".,").lower() not in FUNCTION_WORDS]
        assert list(left) == expected
        assert len(expected) < len(item.text.split()) - 3
    assert not FUNCTION_WORDS & {"no", "not"}


def test_word_order_keeps_the_words_and_typos_keep_the_letters() -> None:
    for item in CHANGES["WordOrder"]:
        words, changed = (text.lower().strip(".").split() for text in (item.text, item.changed))
        assert Counter(words) == Counter(changed)
    for item in CHANGES["Typos"]:
        assert Counter(item.text) == Counter(item.changed)
        pairs = list(zip(item.text.split(), item.changed.split(), strict=True))
        assert all(word[0] == changed[0] for word, changed in pairs)
        assert 1 <= sum(word != changed for word, changed in pairs) < len(pairs) / 2
    assert all(item.changed == item.text.upper() for item in CHANGES["CaseNoise"])


@pytest.mark.parametrize("name", ["LateralitySwap", "DoseSwap", "DrugSwap", "NegationFlip"])
def test_a_swap_leaves_the_rest_of_the_sentence(name: str) -> None:
    for item in CHANGES[name]:
        words, changed = item.text.split(), item.changed.split()
        kept = sum((Counter(words) & Counter(changed)).values())
        assert kept >= len(words) - 3


def test_inferences_have_every_label_and_relation() -> None:
    assert len(ABBREVIATION_ITEMS) >= 100
    assert len(KNOWLEDGE_ITEMS) >= 100
    for items in (ABBREVIATION_ITEMS, KNOWLEDGE_ITEMS):
        labels = Counter(item.label for item in items)
        assert set(labels.values()) == {len(items) / 3}
        assert len({item.item for item in items}) == len(items)
    assert {item.relation for item in KNOWLEDGE_ITEMS} == {"disease-symptom", "drug-disease", "drug-drug"}
    for item in ABBREVIATION_ITEMS:
        short = item.item.rpartition("-")[0]
        assert item.expanded == item.premise.replace(short, ABBREVIATIONS[short])
