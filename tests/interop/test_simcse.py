"""SimCSE's own evaluation.py runs with its import line changed, in all its modes, and prints its tables."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

#: Rows of each file that are kept: enough for ten folds of TREC, little enough for a test.
KEPT = 120


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A copy of SimCSE's script whose import line is changed, where MEDSENTEVAL_SIMCSE names a checkout of it."""
    named = os.environ.get("MEDSENTEVAL_SIMCSE")
    if not named or not (Path(named) / "evaluation.py").is_file():
        pytest.skip("MEDSENTEVAL_SIMCSE names no checkout of princeton-nlp/SimCSE")
    text = (Path(named) / "evaluation.py").read_text("utf-8")
    changed = re.sub(r"^import senteval$", "import medsenteval as senteval", text, flags=re.MULTILINE)
    assert changed != text
    path = tmp_path / "evaluation.py"
    path.write_text(changed, "utf-8")
    return path


def lay_out_part(realdata: Path, folder: Path) -> None:
    """Write a part of each of SentEval's files, its rows spread over the file so that every label is there."""
    source = realdata / "senteval" / "data" / "downstream"
    for name in ("MR", "CR", "MPQA", "SUBJ", "SST", "TREC", "MRPC", "SICK", "STS"):
        for path in (source / name).rglob("*"):
            copy = folder / "downstream" / path.relative_to(source)
            if path.is_file():
                copy.parent.mkdir(parents=True, exist_ok=True)
                lines = path.read_bytes().splitlines(keepends=True)
                # A header stays; inputs and gold scores of STS have as many lines, so that they stay together.
                copy.write_bytes(b"".join([*lines[:1], *lines[1 :: max(1, len(lines) // KEPT)]]))
    (folder / "SYNTHETIC.txt").write_text("A part of the real data, for a test.\n")


@pytest.mark.slow
@pytest.mark.realdata
@pytest.mark.parametrize("mode", ["dev", "test", "fasttest"])
def test_simcse_evaluates_with_its_import_line_changed(realdata: Path, script: Path, tmp_path: Path, mode: str) -> None:
    pytest.importorskip("prettytable")
    pytest.importorskip("transformers")
    from tests.encoders.contextual.test_transformer import save_bert

    letters = "abcdefghijklmnopqrstuvwxyz"
    model = save_bert(tmp_path / "model", max_position_embeddings=1024, num_hidden_layers=1, vocab_size=57)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (model / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    lay_out_part(realdata, tmp_path / "SentEval" / "data")
    search = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(script), "--model_name_or_path", str(model), "--pooler", "avg", "--mode", mode]
    done = subprocess.run(
        [*command, "--task_set", "full"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": search, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert f"------ {mode} ------" in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
    scores = [[float(cell) for cell in line.strip("| ").split("|")] for line in rows[1::2]]
    assert [len(table) for table in scores] == ([2, 8] if mode == "dev" else [8, 8])
    # SimCSE prints 0.00 for a task that was not scored.
    assert all(score != 0 for table in scores for score in table), done.stdout
    assert "Transfer task : STSBenchmark" in done.stderr
    assert "PROGRESS (encoding): 100.00%" in done.stderr
