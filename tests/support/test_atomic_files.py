"""Files are written whole or not at all, and others may read them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO

import pytest

from medsenteval.support import atomic_files
from medsenteval.support.atomic_files import remove_abandoned, scratch_folder, scratch_name, write_atomically, writing
from medsenteval.support.cores import peak_memory_mb


def test_a_file_is_replaced_whole_and_has_the_usual_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    write_atomically(path, "new é")
    assert path.read_text("utf-8") == "new é"
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    write_atomically(path, b"\x00\r\n")
    assert path.read_bytes() == b"\x00\r\n"
    assert {entry.name for entry in tmp_path.iterdir()} == {"a.txt", "plain"}


def test_nothing_is_left_behind_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "a.txt"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "absent" / "a.txt", "x")


def test_a_full_disk_says_for_which_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_atomically(tmp_path / "a.txt", "new")
    assert (caught.value.errno, caught.value.filename) == (28, str(tmp_path / "a.txt"))


@pytest.mark.skipif(os.name != "posix", reason="asks for processes as POSIX does")
def test_scratch_of_a_killed_process_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    asks = "from medsenteval.support.atomic_files import scratch_folder, scratch_name\nimport os, pathlib\n"
    dies = "with scratch_folder() as f: (f / 'rows').touch(); (f.parent / scratch_name('writing')).touch(); os._exit(9)"
    subprocess.run([sys.executable, "-c", asks + dies], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "kept").touch()
    [abandoned] = tmp_path.glob(".medsenteval-*")
    (abandoned / "link").symlink_to(precious)
    (tmp_path / f".medsenteval-{abandoned.name.split('-')[1]}-{2**22 + 1}-00").symlink_to(precious)
    assert (abandoned / "rows").is_file()
    with scratch_folder() as own:
        assert stat.S_IMODE(own.stat().st_mode) == 0o700
        assert list(tmp_path.glob(".medsenteval-*")) == [own]
        with scratch_folder():  # a second one in the same process does not take the first for abandoned
            assert own.is_dir()
    write_atomically(tmp_path / "a.txt", "new")
    assert {path.name for path in tmp_path.iterdir()} == {"precious", "a.txt"}
    assert (precious / "kept").is_file()


def test_scratch_of_another_machine_is_left_for_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic_files, "_machine", lambda: "00000000")
    there = tmp_path / scratch_name("writing")
    there.touch()
    monkeypatch.undo()
    remove_abandoned(tmp_path, "writing")
    assert there.is_file()
    day = 24 * 60 * 60
    os.utime(there, (0, time.time() - day + 600))
    remove_abandoned(tmp_path, "writing")
    assert there.is_file()
    os.utime(there, (0, time.time() - day - 1))
    remove_abandoned(tmp_path, "writing")
    assert not there.exists()


@pytest.mark.skipif(os.name != "posix", reason="asks for processes as POSIX does")
def test_scratch_of_a_process_that_cannot_be_asked_for_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = scratch_name("writing").split("-")[1]
    (tmp_path / f".writing-{own}-{2**70}-00").touch()
    (tmp_path / f".writing-{own}-{os.getpid()}-00").touch()
    remove_abandoned(tmp_path, "writing")

    def refused(process: int, signal: int) -> None:
        raise PermissionError(process)

    monkeypatch.setattr(os, "kill", refused)
    (tmp_path / f".writing-{own}-{2**22 + 1}-00").touch()
    remove_abandoned(tmp_path, "writing")
    assert len(list(tmp_path.iterdir())) == 3


def test_a_scratch_folder_that_is_gone_already_is_no_error() -> None:
    with scratch_folder() as folder:
        folder.rmdir()
    assert not folder.exists()


def test_where_processes_cannot_be_asked_for_all_are_taken_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = 2**22 + 1
    assert atomic_files._runs(os.getpid()) is True
    assert atomic_files._runs(absent) is (os.name != "posix")
    with monkeypatch.context() as patched:
        patched.setattr(os, "name", "nt")
        found = atomic_files._runs(absent)
    assert found is True


def test_memory_is_told_where_the_system_tells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    used = SimpleNamespace(ru_maxrss=3 << 20)
    monkeypatch.setattr(resource, "getrusage", lambda who: used)
    for platform, megabytes in (("linux", 3072.0), ("darwin", 3.0)):
        monkeypatch.setattr(sys, "platform", platform)
        assert peak_memory_mb() == megabytes
    monkeypatch.setitem(sys.modules, "resource", None)
    assert peak_memory_mb() == 0.0


def _fail(stream: BinaryIO, error: Exception) -> None:
    stream.write(b"ha")
    raise error


def test_an_error_while_writing_leaves_nothing_and_stays_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old", "utf-8")
    for error, kind, said in (
        (ValueError("half"), ValueError, "half"),
        (OSError(28, "No space left on device"), OSError, r"No space left on device: '.*a\.txt'"),
    ):
        with pytest.raises(kind, match=said), writing(path) as stream:
            _fail(stream, error)
    assert path.read_text("utf-8") == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]
