"""The committed sample data is what its generator writes, and the tables ship with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.synthesis.__main__ import main
from medsenteval.comparison.published.numbers import TABLES, read_table


def test_the_sample_is_what_its_generator_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert (main(["--check"]), capsys.readouterr().err) == (0, "")


def test_the_check_notices_a_changed_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--folder", str(tmp_path)]) == 0
    changed = tmp_path / "CitationSA" / "train.txt"
    changed.write_text(changed.read_text("utf-8") + "x", "utf-8")
    assert main(["--folder", str(tmp_path), "--check"]) == 1
    assert capsys.readouterr().err == "CitationSA/train.txt is not what data.synthesis writes\n"


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
