"""Stored results as jobs that can be scored again: the same settings, data and vectors, or the reason why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import medsenteval
from medsenteval.contracts import Result
from medsenteval.datasets.locate import sample_root
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.running.rescoring import read_again, reopen
from medsenteval.settings import Settings

SMALL: dict[str, Any] = {"resamples": 100, "limit": 40, "allow_incomplete": True}


def scored(task: str, data: Path | None = None, **settings: Any) -> Result:
    [result] = medsenteval.evaluate("lexical,dimension=16", task, data, {**SMALL, **settings}).values()
    return result


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("BIOSSES", {"seed": 7}), ("BIOSSES", {"limit": None}), ("RQE", {"folds": 3}), ("BioC", {"folds": 4, "grouped": True}),
        ("CitationSA", {"folds": 3, "grid": "wide", "probe": "sklearn"}),
        ("BioASQ", {"folds": 2, "task_options": {"BioASQ": {"snippets": "all"}}}),
    ],
)  # fmt: skip
def test_a_result_is_scored_again_to_the_last_bit(task: str, settings: dict[str, Any]) -> None:
    result = scored(task, **settings)
    (job,), left_out = reopen([result], sample_root(), EmbeddingCache())
    assert left_out == []
    asked = Settings(**{**SMALL, **settings})
    names = ("seed", "limit", "probe", "grid", "grouped", *(["folds"] if "folds" in settings else []))
    assert {name: getattr(job.settings, name) for name in names} == {name: getattr(asked, name) for name in names}
    again = job.score(job.embeddings, job.settings.with_changes(resamples=100))
    assert [metric.value for metric in again.metrics] == [metric.value for metric in result.metrics]
    changed = job.scored_again(again, encoder="other")
    assert (changed.encoder, changed.task, changed.metrics, changed.notes) == ("other", result.task, again.metrics, ())
    assert changed.items == dict(again.items)
    other = replace(job.embeddings, matrix=np.roll(job.embeddings.matrix, 1, axis=0))
    assert [metric.value for metric in job.score(other).metrics] != [metric.value for metric in again.metrics]


def test_a_file_of_ones_own_is_read_again_from_the_data_folder(tmp_path: Path) -> None:
    notes = "".join(f"word{i} {'pain' if i % 2 else 'well'},{'ill' if i % 2 else 'fit'},x{i % 7}\n" for i in range(60))
    (tmp_path / "a|b%.csv").write_text("note|%,severity,who\n" + notes, "utf-8")
    task = medsenteval.own_task(tmp_path / "a|b%.csv", text="note|%", label="severity", protocol="nested")
    [result] = medsenteval.evaluate("lexical,dimension=16", task, folds=3, resamples=100).values()
    (job,), left_out = reopen([result], tmp_path, EmbeddingCache())
    assert (left_out, job.settings.folds, len(job.dataset)) == ([], 3, 60)
    assert job.score(job.embeddings).metrics[0].value == result.metrics[0].value
    assert read_again(result, sample_root()) == "its texts are not in the data folder"
    for name in (f"file:{tmp_path / 'a|b%.csv'}", "file:../a|b%.csv"):
        assert read_again(replace(result, task=name), tmp_path / "below") == "its texts are not in the data folder"
    (tmp_path / "a|b%.csv").write_text("note|%,severity,who\n" + notes.replace("word3 ", "word4 "), "utf-8")
    assert read_again(result, tmp_path) == f"the data in {tmp_path.name} is not that of the run"


def test_what_cannot_be_scored_again_is_named_with_the_reason(tmp_path: Path) -> None:
    result = scored("BIOSSES")
    [analogies] = medsenteval.evaluate("lexical,dimension=16", "BMASS", limit=5, resamples=100).values()
    signed = {name: result.signature.replace("|limit=40|", f"|limit={name}|") for name in ("x", "9" * 16, "39")}
    reasons = {
        "the encoder has no identity, so that none of its vectors are cached": replace(result, encoder_identity=""),
        "its texts are not in the data folder": replace(
            result, task="file:/etc/passwd", signature=result.signature.replace("BIOSSES@", "file:/etc/passwd@")
        ),
        "the data cannot be read: its signature names the limit 'x', which is no number of rows": replace(
            result, signature=signed["x"]
        ),
        f"the data cannot be read: its signature names the limit '{'9' * 16}'": replace(result, signature=signed["9" * 16]),
        f"the data in {sample_root().name} is not that of the run": replace(result, signature=signed["39"]),
        "tasks of the family 'analogy' are not scored from one vector for each text": analogies,
        "it was scored in a way that its file does not tell": replace(
            result, signature=result.signature.replace("|cosine|", "|own-similarity|")
        ),
    }
    jobs, left_out = reopen([*reasons.values(), result], sample_root(), EmbeddingCache())
    assert [job.result for job in jobs] == [result]
    for reason, given, said in zip(reasons, reasons.values(), left_out, strict=True):
        assert said.startswith(f"{given.encoder}, {given.task}: {reason}")
    assert reopen([result], sample_root(), EmbeddingCache(tmp_path)) == (
        [],
        ["lexical, BIOSSES: not all of its vectors are in the cache (another cache folder, pruned, or a prompt for each role)"],
    )


class Lengths:
    """An encoder of one's own; its identity may end like that of vectors which were made of others."""

    name = "lengths"

    def __init__(self, identity: str, power: int) -> None:
        self.identity, self._power = identity, power

    def encode(self, texts: list[str]) -> np.ndarray[Any, Any]:
        return np.array([[len(text) ** self._power, text.count("e"), 1] for text in texts], dtype=np.float32)


def test_an_identity_that_ends_like_a_derived_one_has_its_own_vectors() -> None:
    for identity, power in (("lengths", 1), ("lengths-int8", 3)):
        [result] = medsenteval.evaluate(Lengths(identity, power), "BIOSSES", **SMALL).values()
        jobs, left_out = reopen([result], sample_root(), EmbeddingCache())
        assert not left_out
        assert jobs[0].score(jobs[0].embeddings).metrics[0].value == result.metrics[0].value
