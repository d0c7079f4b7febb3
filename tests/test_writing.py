"""Files are written whole or not at all, and may be read by whoever may read ordinary files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from medsenteval.writing import write_atomically


def test_text_and_bytes_replace_what_was_there(tmp_path: Path) -> None:
    for content in ("µg", b"\xff\x00"):
        write_atomically(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == (content.encode("utf-8") if isinstance(content, str) else content)
    assert os.listdir(tmp_path) == ["file"]


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_atomically(tmp_path / "file", "old")

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "file", "new")
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_others_may_read_it_as_the_umask_says(tmp_path: Path) -> None:
    write_atomically(tmp_path / "ours", "x")
    (tmp_path / "ordinary").write_text("x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "ordinary").stat().st_mode
