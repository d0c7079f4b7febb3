"""A short campaign in CI: every reader, thousands of inputs, in a process of its own with its memory limited."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from medsenteval.errors import DataError
from medsenteval.registry import TASK_GROUPS
from tests.conftest import REPOSITORY
from tests.fuzz.campaign import Campaign, Hang
from tests.fuzz.mutating import mutate
from tests.fuzz.reader import Reader
from tests.fuzz.readers import READERS


@pytest.mark.slow
def test_a_short_campaign_finds_no_defect(tmp_path: Path) -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--inputs", "8000", "--seed", "20261116", "--findings", str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout[-3000:] + outcome.stderr[-2000:]
    assert re.search(r"\b[78],\d{3} inputs, .* 0 defect\(s\)", outcome.stdout)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_every_reader_reads_its_own_valid_files(reader: Reader, tmp_path: Path) -> None:
    hostile_names = reader.name in ("zip names", "tar names")
    campaign = Campaign([reader], seed=1, findings=tmp_path / "findings")
    campaign._one(reader, dict(reader.files), tmp_path / "in", campaign.tallies[reader.name])
    assert list(campaign.tallies[reader.name].outcomes) == (["DataError"] if hostile_names else ["read"])


def test_every_sentence_task_is_fuzzed() -> None:
    fuzzed = " ".join(reader.name for reader in READERS)
    for name in TASK_GROUPS["sentence"]:
        assert name in fuzzed


@pytest.mark.slow
def test_the_watch_sees_foreign_errors_hangs_and_hunger(tmp_path: Path) -> None:
    def foreign(folder: Path) -> None:
        raise KeyError("x")

    def hang(folder: Path) -> None:
        while True:
            pass

    def refusal(folder: Path) -> None:
        raise DataError("no")

    files = {"a.txt": b"abc"}
    readers = [Reader("foreign", files, foreign), Reader("hang", files, hang), Reader("refusal", files, refusal)]
    campaign = Campaign(readers, seed=1, findings=tmp_path)
    for reader in readers:
        campaign._one(reader, files, tmp_path / "in", campaign.tallies[reader.name])
    assert [list(campaign.tallies[reader.name].outcomes) for reader in readers] == [
        ["DEFECT KeyError"],
        [f"DEFECT {Hang.__name__}"],
        ["DataError"],
    ]
    assert (tmp_path / "foreign-1/traceback.txt").is_file()
    assert (tmp_path / "foreign-1/a.txt").read_bytes() == b"abc"


def test_mutations_are_repeatable_and_bounded() -> None:
    def series(seed: int) -> list[bytes]:
        rng = random.Random(seed)
        return [mutate(b"a\tb\t12\nc\td\t34\n", rng, [b"other"]) for _ in range(500)]

    assert series(1) == series(1)
    assert len(set(series(1))) > 300
    assert max(map(len, series(2))) <= 200_000
