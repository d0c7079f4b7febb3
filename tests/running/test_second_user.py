"""A second user of the same machine: cannot change a cache that we then trust."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux" or os.geteuid() != 0 or shutil.which("setpriv") is None,
        reason="becoming another user needs root on Linux",
    ),
]

#: A user that has no account and owns nothing.
STRANGER = 12345


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user can enter and write, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="public-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def as_stranger(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
    places = {"HOME": str(cwd), "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    became = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", sys.executable, *command]
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", f'{opened_to_all(cwd)} exec "$@"', "sh", *became],
        cwd=cwd,
        env={**kept, **places},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def opened_to_all(stage: Path) -> str:
    """Return commands that open what Python needs to all users, in a view of the files that nobody else has."""
    needed = [Path(sys.base_prefix), Path(sys.prefix), REPOSITORY]
    ancestors = {parent for path in needed for parent in path.parents if not parent.stat().st_mode & 0o001}
    lines = []
    for closed in sorted(ancestors, key=lambda path: len(path.parts))[:1]:
        inside = {path: stage / f".view-{number}" for number, path in enumerate(needed) if path.is_relative_to(closed)}
        lines += [f"mkdir -p '{view}'; mount --bind '{path}' '{view}';" for path, view in inside.items()]
        lines += [f"mount -t tmpfs -o mode=755 none '{closed}';"]
        lines += [f"mkdir -p '{path}'; mount --bind '{view}' '{path}';" for path, view in inside.items()]
    return "set -e; " + " ".join(lines)


def run_options(output: Path) -> list[str]:
    return ["-m", "medsenteval", "run", "-t", "BIOSSES", "-o", str(output), "--quiet"]


def test_complete_caches_and_stores_are_read_where_they_cannot_be_written(public: Path) -> None:
    own = public / "own"
    own.mkdir()
    os.chown(own, STRANGER, STRANGER)

    def run(output: str) -> Any:
        made = as_stranger(*run_options(own / output), cwd=public, MEDSENTEVAL_CACHE=str(own / "cache"))
        assert made.returncode == 0, made.stderr
        assert "Traceback" not in made.stderr
        return made.stdout

    run("results")
    for path in [own, *own.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
    assert "from an earlier run" in run("results")
    (public / "new").mkdir(mode=0o777)
    os.chown(public / "new", STRANGER, STRANGER)
    made = as_stranger(*run_options(public / "new"), cwd=public, MEDSENTEVAL_CACHE=str(own / "cache"))
    assert made.returncode == 0, made.stderr
    [stored] = (public / "new").rglob("*.json")
    assert json.loads(stored.read_text())["performance"]["texts_encoded"] == 0
    refused = as_stranger(*run_options(own / "results"), "--force", cwd=public, MEDSENTEVAL_CACHE=str(own / "cache"))
    assert refused.returncode == 2
    assert "cannot be written: Permission denied; name another folder with --output" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_cache_that_another_user_made_is_not_trusted(public: Path) -> None:
    cache = public / "cache"
    poisoned = as_stranger(*run_options(public / "theirs"), cwd=public, MEDSENTEVAL_CACHE=str(cache))
    assert poisoned.returncode == 0, poisoned.stderr
    environment = {**os.environ, "MEDSENTEVAL_CACHE": str(cache), "PYTHONPATH": str(REPOSITORY)}
    made = subprocess.run([sys.executable, *run_options(public / "ours")], env=environment, capture_output=True, text=True)
    assert made.returncode == 2
    assert f"{cache}: belongs to another user (number {STRANGER})" in made.stderr
    assert not list((public / "ours").rglob("*.json"))
