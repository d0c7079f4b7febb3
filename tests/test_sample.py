"""The committed sample data is what its generator writes, and the tables ship with the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from medsenteval.comparison.published import TABLES, read_table
from tests.conftest import REPOSITORY


def test_the_sample_is_what_its_generator_writes() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "data.synthesis", "--check"], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_check_notices_a_changed_file(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "data.synthesis", "--folder", str(tmp_path)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    changed = tmp_path / "CitationSA" / "train.txt"
    changed.write_text(changed.read_text("utf-8") + "x", "utf-8")
    checked = subprocess.run([*command, "--check"], cwd=REPOSITORY, capture_output=True, text=True)
    assert checked.returncode == 1
    assert "CitationSA/train.txt" in checked.stderr


def test_published_tables_ship_with_the_package() -> None:
    sizes = {name: len(read_table(name)) for name in TABLES}
    assert sizes == {
        "medsenteval_table3": 252,
        "senteval_general": 320,
        "biosim_tables": 216,
        "bmass_tables": 106,
        "medisim_tables": 5247,
        "medsenteval_table4": 24,
    }
    glove = {row["task"]: row["value"] for row in read_table("medsenteval_table3") if row["encoder"] == "GloVe_840B"}
    assert glove["MedNLI"] == "65.05"
