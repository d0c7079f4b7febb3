"""What wrong answers to analogies are: guesses equal to a sort of all candidates, kinds as written out."""

from __future__ import annotations

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
from medsenteval.tasks.analogy.analogy_errors import count_kinds, wrong_answers
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


@pytest.mark.parametrize("setting", ["multi-answer", "all-info"])
def test_guesses_are_those_of_a_full_sort_and_accuracy_is_the_tasks(setting: str) -> None:
    dataset, embeddings = sample(setting=setting)
    asked, wrong = wrong_answers(dataset, embeddings)
    guesses = {each.item: each.guess for each in wrong}
    assert dataset.candidates is not None

    def vector(term: str) -> Any:
        return embeddings.matrix[embeddings.row_of[term]].astype(np.float64)

    candidates = np.stack([vector(term) / np.linalg.norm(vector(term)) for term in dataset.candidates])
    n_wrong = 0
    for item, analogy in dataset.chosen():
        if not set(analogy.d) & set(dataset.candidates):
            continue
        aim = np.mean([vector(term) for term in analogy.b], axis=0) - vector(analogy.a) + vector(analogy.c)
        scores = np.round(candidates @ aim, 10)
        barred = {analogy.a, analogy.c, *analogy.b}
        best = max((i for i, term in enumerate(dataset.candidates) if term not in barred), key=lambda i: (scores[i], -i))
        is_wrong = dataset.candidates[best] not in analogy.d
        n_wrong += is_wrong
        assert guesses.get(item) == (dataset.candidates[best] if is_wrong else None)
    assert len(wrong) == n_wrong > 0
    scored = registry.task("BMASS").evaluate(registry.task("BMASS"), dataset, embeddings, Settings())
    for relation, means in scored.details["relations"].items():
        here = sum(each.analogy.relation == relation for each in wrong)
        assert 1 - here / asked[relation] == pytest.approx(means["acc"])


def test_kinds_are_those_of_the_terms() -> None:
    dataset, embeddings = sample()
    _, wrong = wrong_answers(dataset, embeddings)
    everything = list(dataset.analogies.values())
    for each in wrong:
        relation = each.analogy.relation
        objects = {term for analogy in everything if analogy.relation == relation for term in (*analogy.b, *analogy.d)}
        assert ("same relation" in each.kinds) == (each.guess in objects)
        words = {word[:5] for word in each.guess.casefold().split() if len(word) > 2}
        assert ("like c" in each.kinds) == bool(words & {word[:5] for word in each.analogy.c.casefold().split()})
    counts = count_kinds(wrong)
    assert counts["wrong"] == len(wrong)
    assert counts["none of these"] == sum(not each.kinds for each in wrong)
    assert max(counts["same relation"], counts["like c"]) > 0
    with pytest.raises(SettingsError, match="wrong answers are those of 3cosadd"):
        wrong_answers(*sample(score="3cosmul"))


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
