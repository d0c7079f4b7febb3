"""A task's texts in a training corpus: planted near copies are found, nothing else is."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.overlap import near_copy
from medsenteval.cli.main import main
from medsenteval.datasets import overlap as module
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.datasets.near_duplicates import word_set
from medsenteval.datasets.overlap import corpus_overlap, corpus_texts
from medsenteval.errors import DataError, SettingsError
from medsenteval.registry import task
from medsenteval.settings import Settings


def test_planted_near_copies_are_found_in_blocks_and_nothing_else_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK", 300)
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(3_000)]
    texts = [" ".join(rng.choice(words, 14, replace=False)) for _ in range(40)]
    lines = [" ".join(rng.choice(words, 14, replace=False)) for _ in range(2_000)]
    planted = {50 * i + 7: i for i in range(40)}
    for line, text in planted.items():
        lines[line] = near_copy(texts[text], rng)
    found = corpus_overlap(texts, enumerate(lines))
    assert {line: texts.index(text) for text, where in found.items() for line in where} == planted
    for original, where in found.items():
        for line, similarity in where.items():
            one, other = word_set(original), word_set(lines[line])
            assert similarity == len(one & other) / len(one | other) >= 0.8


def test_a_sentence_within_a_line_is_found_and_blank_texts_are_not() -> None:
    corpus = [(1, "Nothing here. The patient has a fever! And more."), (2, ""), (3, "the PATIENT has, a fever")]
    assert corpus_overlap(["The patient has a fever.", " "], corpus) == {"The patient has a fever.": {1: 1.0, 3: 1.0}}
    assert corpus_overlap(["a b c"], []) == {}


def test_corpora_are_lines_or_columns_packed_or_not(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\n two \n", "utf-8")
    with gzip.open(tmp_path / "b.txt.gz", "wt", encoding="utf-8") as stream:
        stream.write("one\n\ntwo\n")
    (tmp_path / "c.csv").write_text("id,body\n1,one\n2,two\n", "utf-8")
    expected = [(1, "one"), (3, "two")]
    assert list(corpus_texts(tmp_path / "a.txt")) == list(corpus_texts(tmp_path / "b.txt.gz")) == expected
    assert [text for _, text in corpus_texts(tmp_path / "c.csv", "body")] == ["one", "two"]
    with pytest.raises(SettingsError, match="no column is called 'text'; --column can be id, body"):
        list(corpus_texts(tmp_path / "c.csv"))
    (tmp_path / "cut.txt.gz").write_bytes((tmp_path / "b.txt.gz").read_bytes()[:-9])
    with pytest.raises(DataError, match=r"cut\.txt\.gz: cannot be read: Compressed file ended"):
        list(corpus_texts(tmp_path / "cut.txt.gz"))
    with pytest.raises(DataError, match=r"d\.txt: cannot be read: No such file"):
        list(corpus_texts(tmp_path / "d.txt"))


def test_the_command_counts_texts_and_never_calls_an_encoder_clean(tmp_path: Path) -> None:
    texts = list(dict.fromkeys(load_dataset(task("BIOSSES"), sample_root(), Settings()).all_texts()))
    lines = ["an unrelated line of text", texts[0].upper(), texts[5], texts[0]]
    (tmp_path / "corpus.txt").write_text("\n".join(lines), "utf-8")
    outcome = CliRunner().invoke(main, ["data", "overlap", str(tmp_path / "corpus.txt"), "-t", "BIOSSES"])
    assert outcome.exit_code == 0, outcome.output
    assert f"of {len(texts):,} texts occur in corpus.txt" in outcome.output
    assert "2 of them with the same words" in outcome.output
    assert f"  line 2 and 1 more (similarity 1.00): {texts[0][:80]}" in outcome.output
    assert f"  line 3 (similarity 1.00): {texts[5][:80]}" in outcome.output
    assert "never that an encoder is clean" in outcome.output
    absent = CliRunner().invoke(main, ["data", "overlap", str(tmp_path / "corpus.txt"), "-t", "RQE", "-d", str(tmp_path)])
    assert absent.exit_code == 3
    assert "data absent: RQE" in absent.output
