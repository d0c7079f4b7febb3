"""The bundled items: sentences of our own with one thing changed, and inferences that need an abbreviation or a relation.

Everything is made from the word lists by fixed rules, so the items are the same everywhere. A user's JSON file in
``<data>/diagnostics/`` takes their place; ``docs/diagnostics.md`` shows its format.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Final

from medsenteval.errors import DataError
from medsenteval.support.files import clean_text, read_json
from medsenteval.support.toml_files import packaged_toml

#: Our own words, relations and patterns of sentences, of which the items are made.
LISTS: Final = SimpleNamespace(**packaged_toml("medsenteval.tasks", "diagnostics/word_lists.toml"))
FUNCTION_WORDS: Final = frozenset(LISTS.function_words.split())
#: Below the data folder.
_FOLDER: Final = "diagnostics"


#: A text by what it is in the item (``text`` and ``changed``, or ``premise``, ``hypothesis`` and so on), and the item's ``id``.
Item = Mapping[str, str]


def _long_sentences() -> Iterator[str]:
    drugs = list(LISTS.indications.items())
    for number in range(120):
        drug, (disease, _) = drugs[number % len(drugs)]
        yield LISTS.patterns["long"][number % len(LISTS.patterns["long"])].format(
            side=("left", "right")[number % 2], organ=LISTS.paired_organs[number % len(LISTS.paired_organs)],
            finding=LISTS.findings[(number * 7) % len(LISTS.findings)], n=12 + 3 * number, disease=disease,
            drug=drug, Drug=drug.capitalize(),
        )  # fmt: skip


def _without_function_words() -> Iterator[tuple[str, str]]:
    for text in _long_sentences():
        kept = [word for word in text.split() if word.strip(".,").casefold() not in FUNCTION_WORDS]
        yield text, " ".join(kept)


def _negated() -> Iterator[tuple[str, str]]:
    for (affirmed, denied), finding in product(LISTS.patterns["affirmed"], LISTS.findings):
        named = finding.removeprefix("a ") if "There is" in affirmed else finding
        yield affirmed.format(finding=named), denied.format(finding=named)


def _treated(swapped: str) -> Iterator[tuple[str, str]]:
    drugs = list(LISTS.indications)
    for number, (template, drug) in enumerate(product(LISTS.patterns["treated"], drugs)):
        disease = LISTS.indications[drug][0]
        # Another disease's drug, so that the sentence with it is wrong and not merely different.
        others = [name for name in drugs if LISTS.indications[name][0] != disease]
        said = {"drug": drug, "dose": LISTS.doses[number % len(LISTS.doses)], "disease": disease}
        other = {"drug": others[(number * 5) % len(others)], "dose": LISTS.doses[(number + 5) % len(LISTS.doses)]}
        yield template.format(**said), template.format(**said | {swapped: other[swapped]})


def _other_side() -> Iterator[tuple[str, str]]:
    sides = (("left", "right"), ("right", "left"))
    for template, organ, (side, other) in product(LISTS.patterns["sided"], LISTS.paired_organs, sides):
        yield template.format(side=side, organ=organ), template.format(side=other, organ=organ)


def _other_order() -> Iterator[tuple[str, str]]:
    names = [finding.removeprefix("a ") for finding in LISTS.findings]
    for number, (pattern, step) in enumerate(product(LISTS.patterns["roles"], range(1, 4))):
        for place in range(number % 2, len(names), 2):
            roles = {"a": names[place], "b": names[(place + step) % len(names)]}
            yield pattern[0].format(**roles), pattern[1].format(**roles)


def _with_typos() -> Iterator[tuple[str, str]]:
    """Swap two neighbouring inner letters in a quarter of the longer words, as hurried typing does."""
    for text in _long_sentences():
        rng = random.Random(text)
        words = text.split()
        long_words = [i for i, word in enumerate(words) if len(re.sub(r"\W", "", word)) >= 5]
        for i in rng.sample(long_words, max(1, len(long_words) // 4)):
            word = words[i]
            places = [at for at in range(1, len(word) - 2) if word[at] != word[at + 1] and word[at : at + 2].isalpha()]
            place = rng.choice(places)
            words[i] = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
        yield text, " ".join(words)


_MAKERS: Final[dict[str, Callable[[], Iterator[tuple[str, str]]]]] = {
    "FunctionWords": _without_function_words,
    "NegationFlip": _negated,
    "DrugSwap": lambda: _treated("drug"),
    "DoseSwap": lambda: _treated("dose"),
    "LateralitySwap": _other_side,
    "WordOrder": _other_order,
    "Typos": _with_typos,
    "CaseNoise": lambda: ((text, text.upper()) for text in _long_sentences()),
}
#: Test -> its sentences before and after the change.
CHANGES: Final[dict[str, tuple[Item, ...]]] = {
    name: tuple({"id": f"{name}-{number:03}", "text": was, "changed": now} for number, (was, now) in enumerate(make(), start=1))
    for name, make in _MAKERS.items()
}


def _abbreviations() -> Iterator[Item]:
    names = list(LISTS.abbreviations.items())
    for (short, full), (number, (premise, label, hypothesis)) in product(names, enumerate(LISTS.patterns["abbreviated"])):
        other = names[(names.index((short, full)) + 11 + number) % len(names)][1]
        yield {
            "id": f"{short}-{label}", "premise": premise.format(x=short),
            "hypothesis": hypothesis.format(full=full, other=other), "label": label, "expanded": premise.format(x=full),
        }  # fmt: skip


def _knowledge() -> Iterator[Item]:
    diseases, treated = list(LISTS.presentations), sorted({disease for disease, _ in LISTS.indications.values()})
    for number, (disease, signs) in enumerate(LISTS.presentations.items()):
        yield from _three(
            f"sign-{number}", "disease-symptom", f"The patient presents with {signs}.", f"The patient may have {disease}.",
            f"The patient has no sign of {disease}.", f"The patient's mother had {diseases[(number + 9) % len(diseases)]}.",
        )  # fmt: skip
    for number, (drug, (disease, _)) in enumerate(LISTS.indications.items()):
        others = [other for other in treated if other != disease]
        yield from _three(
            f"drug-{number}", "drug-disease", f"Home medications include {drug}.", f"The patient is treated for {disease}.",
            f"The patient takes nothing for {disease}.", f"The patient also has {others[number % len(others)]}.",
        )  # fmt: skip
    same = [*LISTS.brands.items(), *((drug, kind) for drug, (_, kind) in LISTS.indications.items())]
    for number, (named, meant) in enumerate(same):
        other = same[(number + 13) % len(same)][1]
        yield from _three(
            f"name-{number}", "drug-drug", f"The patient was given {named} this morning.", f"The patient received {meant}.",
            f"The patient did not receive {meant}.", f"The patient will receive {other} tomorrow.",
        )  # fmt: skip


def _three(item: str, relation: str, premise: str, entailed: str, contradicted: str, neutral: str) -> Iterator[Item]:
    """Yield one premise with a hypothesis of each label."""
    for label, hypothesis in (("entailment", entailed), ("contradiction", contradicted), ("neutral", neutral)):
        yield {"id": f"{item}-{label}", "premise": premise, "hypothesis": hypothesis, "label": label, "relation": relation}


#: Premises with an abbreviation, before and after it is written out.
ABBREVIATION_ITEMS: Final = tuple(_abbreviations())
#: Inferences that need a medical relation which is not stated.
KNOWLEDGE_ITEMS: Final = tuple(_knowledge())


def read_items(
    root: Path, name: str, bundled: Sequence[Item], labels: Sequence[str] = ()
) -> tuple[Sequence[Item], tuple[str, ...]]:
    """Return the items of a test and the file they come from, a list of JSON objects: each has what the bundled items have."""
    file = root / _FOLDER / f"{name}.json"
    if not file.is_file():
        return bundled, ()
    keys = [key for key in bundled[0] if key != "id"]
    rows = read_json(file)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{file}: expected a list of objects, one an item, and at least one")
    found = []
    for number, row in enumerate(rows, start=1):
        if wrong := [key for key in keys if not isinstance(row.get(key), str) or not row[key].strip()]:
            raise DataError(f"{file}: item {number}: {', '.join(wrong)} must be texts; an item has {', '.join(keys)}")
        texts = {key: clean_text(row[key]) for key in keys}
        if labels and texts["label"] not in labels:
            raise DataError(f"{file}: item {number}: unknown label {texts['label']!r}; known: {', '.join(labels)}")
        found.append({"id": str(row.get("id") or f"item {number}"), **texts})
    return found, (f"{_FOLDER}/{file.name}",)
