"""What wrong answers to analogies are: counted as by a sort of all candidates and the kinds as written out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from medsenteval import registry
from medsenteval.cli.main import main
from medsenteval.contracts import Embeddings
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.embedding.embed import embed_texts
from medsenteval.encoders.adapt import as_encoder
from medsenteval.errors import SettingsError
from medsenteval.settings import Settings
from medsenteval.tasks.analogy.analogy_errors import KINDS, _alike, count_errors
from medsenteval.tasks.analogy.analogy_sets import AnalogyDataset


def letters(texts: list[str]) -> Any:
    """Letter pairs in few numbers: terms that are spelt alike lie close, but not only they."""
    rows = np.zeros((len(texts), 7))
    for row, text in zip(rows, texts, strict=True):
        for first, second in pairwise(text):
            row[(ord(first) * 31 + ord(second)) % 7] += 1
    return rows


def sample(**options: str) -> tuple[AnalogyDataset, Embeddings]:
    task = registry.task("BMASS")
    dataset = load_dataset(task, sample_root(), Settings(task_options={"BMASS": options}))
    assert isinstance(dataset, AnalogyDataset)
    encoder = as_encoder(letters, name="letters")
    return dataset, embed_texts(encoder, list(dataset.all_texts()), batch_size=128, task_name="BMASS")


def alike(text: str, others: Sequence[str]) -> bool:
    """Whether a word of three letters or more begins as one of the others, up to five letters."""
    pairs = [(one, two) for other in others for one in text.casefold().split() for two in other.casefold().split()]
    return any(len(one) > 2 and one[:5] == two[:5] for one, two in pairs)


@pytest.mark.parametrize("setting", ["multi-answer", "all-info"])
def test_counts_are_those_of_a_full_sort_and_accuracy_is_the_tasks(setting: str) -> None:
    dataset, embeddings = sample(setting=setting)
    assert dataset.candidates is not None

    def vector(term: str) -> Any:
        return embeddings.matrix[embeddings.row_of[term]].astype(np.float64)

    candidates = np.stack([vector(term) / np.linalg.norm(vector(term)) for term in dataset.candidates])
    everything = [analogy for _, analogy in dataset.chosen()]
    expected: dict[str, Counter[str]] = {}
    for analogy in everything:
        if not set(analogy.d) & set(dataset.candidates):
            continue
        aim = np.mean([vector(term) for term in analogy.b], axis=0) - vector(analogy.a) + vector(analogy.c)
        scores = np.round(candidates @ aim, 10)
        barred = {analogy.a, analogy.c, *analogy.b}
        best = max((i for i, term in enumerate(dataset.candidates) if term not in barred), key=lambda i: (scores[i], -i))
        guess, counts = dataset.candidates[best], expected.setdefault(analogy.relation, Counter())
        counts["asked"] += 1
        if guess in analogy.d:
            continue
        category = dataset.categories[analogy.relation]
        same = [each for each in everything if each.relation == analogy.relation]
        others = [each for each in everything if each.relation != analogy.relation]
        kinds = {
            "same relation": any(guess in (*each.b, *each.d) for each in same),
            "same type": category != "" and any(
                guess in (each.a, *each.b, each.c, *each.d) and dataset.categories[each.relation] == category for each in others
            ),
            "like b": alike(guess, analogy.b),
            "like c": alike(guess, [analogy.c]),
            "like an answer": alike(guess, analogy.d),
        }  # fmt: skip
        assert kinds.keys() == KINDS.keys()
        counts.update(["wrong", *([kind for kind, is_so in kinds.items() if is_so] or ["none of these"])])
    found = count_errors(dataset, embeddings)
    assert found == expected
    assert set(sum(found.values(), Counter())) >= {"asked", "wrong", "none of these", *KINDS} - {"like c"}
    scored = registry.task("BMASS").evaluate(registry.task("BMASS"), dataset, embeddings, Settings())
    for relation, means in scored.details["relations"].items():
        assert 1 - found[relation]["wrong"] / found[relation]["asked"] == pytest.approx(means["acc"])


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [("Renal failure", "acute renal pain", True), ("diabetes", "diabetic foot", True), ("diabetes", "diabxxx", False),
     ("of x", "of y", False), ("arm", "ARM", True), ("arm", "army", False), ("a", "a", False)],
)  # fmt: skip
def test_words_are_alike_by_five_letters(text: str, other: str, expected: bool) -> None:
    assert _alike(text, ["unlike", other]) is expected


def test_only_the_papers_score_is_analysed() -> None:
    with pytest.raises(SettingsError, match="wrong answers are those of 3cosadd"):
        count_errors(*sample(score="3cosmul"))


def test_the_command(tmp_path: Path) -> None:
    shown = CliRunner().invoke(main, ["analogies", "errors", "-e", "lexical", "--option", "setting=all-info"])
    assert shown.exit_code == 0, shown.output
    assert "Same relation" in shown.output
    assert "same type: a term of another relation of the same category." in shown.output
    assert "SYNTHETIC" in shown.output
    head, _, *rows = shown.output.partition("same relation:")[0].splitlines()
    totals = [[int(cell) for cell in row[len("RO: measured_component_of") :].split()[:2]] for row in rows]
    assert totals[-1] == [sum(counts) for counts in zip(*totals[:-1], strict=True)]
    assert totals[-1][0] > totals[-1][1] > 0
    # Numbers stand at the right, as their heads do.
    assert {len(row) for row in rows} == {len(head)}
    wrong = CliRunner().invoke(main, ["analogies", "errors", "-e", "lexical", "-t", "RQE"])
    assert (wrong.exit_code, "RQE is no task of analogies" in wrong.output) == (2, True)
