"""The package as users get it: plain install, wheel and editable install, in new environments, with a real plug-in."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

pytestmark = [pytest.mark.slow, pytest.mark.install]

CHECK = """
import importlib.util, pathlib, sys
import medsenteval, medsenteval.tasks.sentence.rqe, medsenteval.encoders.adapt, medsenteval.datasets.locate
from medsenteval.comparison.published import read_table
assert len(read_table("medsenteval_table3")) == 252
root = medsenteval.datasets.locate.sample_root()
assert (root / "BIOSSES" / "Annotation-Pairs.docx").is_file(), root
assert (root / "SYNTHETIC.txt").is_file(), root
assert (pathlib.Path(medsenteval.__file__).parent / "py.typed").is_file()
print(medsenteval.evaluate("lexical", tasks="BIOSSES")["BIOSSES"].metric("pearson").value)
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean copy of what git tracks, so that leftovers of this folder cannot help."""
    folder = tmp_path_factory.mktemp("source")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (REPOSITORY / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((REPOSITORY / name).read_bytes())
    return folder


def environment(folder: Path) -> Path:
    """A new environment that borrows this one's libraries by links, pip among them, but not its medsenteval."""
    venv.create(folder, with_pip=False)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    site = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    borrowed = folder / "borrowed"
    borrowed.mkdir()
    for library in Path(sysconfig.get_path("purelib")).iterdir():
        # Neither an installed nor an editable medsenteval may come along: each would win over what is being tested.
        if "medsenteval" not in library.name and library.suffix != ".pth":
            (borrowed / library.name).symlink_to(library)
    (Path(site) / "borrowed.pth").write_text(f"{borrowed}\n")
    return python


def run(*command: str | Path, cwd: Path) -> str:
    # What PYTHONPATH names would come before what is installed.
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    finished = subprocess.run([str(part) for part in command], cwd=cwd, env=clean, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def install(python: Path, *what: str | Path, cwd: Path) -> None:
    run(python, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--force-reinstall", *what, cwd=cwd)


@pytest.mark.parametrize("kind", ["plain", "wheel", "editable"])
def test_every_kind_of_install_works(kind: str, source: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "env")
    if kind == "wheel":
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / "dist", source, cwd=tmp_path)
        (wheel,) = (tmp_path / "dist").glob("*.whl")
        install(python, wheel, cwd=tmp_path)
    else:
        install(python, *(["-e"] if kind == "editable" else []), source, cwd=tmp_path)
    assert float(run(python, "-c", CHECK, cwd=tmp_path)) > 0.3
    location = run(python, "-c", "import medsenteval; print(medsenteval.__file__)", cwd=tmp_path)
    expected = source if kind == "editable" else tmp_path / "env"
    assert location.startswith(str(expected))
    assert "MedNLI" in run(python.parent / "medsenteval", "tasks", cwd=tmp_path)
    # Started at the top of the clone, Python finds the clone's package first; that must work too.
    assert float(run(python, "-c", CHECK, cwd=source)) > 0.3


PLUGIN_SETUP = """
from setuptools import setup
setup(name="medsenteval-plugin-test", version="1", py_modules=["medsenteval_plugin_test"], entry_points={
    "medsenteval.tasks": ["TinyTask = medsenteval_plugin_test:TASK"],
    "medsenteval.encoders": ["tiny = medsenteval_plugin_test:load"]})
"""

PLUGIN = """
from dataclasses import replace
import numpy as np
from medsenteval.registry import task

TASK = replace(task("BIOSSES"), name="TinyTask", version="7")

class Tiny:
    name, identity = "tiny", "tiny-1"
    def __init__(self, letters): self.letters = letters
    def encode(self, texts): return np.array([[t.count(c) for c in self.letters] for t in texts], dtype=np.float32)

def load(argument, case="lower"): return Tiny(argument or "abcde")
"""


def test_an_installed_plug_in_adds_a_task_and_an_encoder(source: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    plugin.mkdir()
    (plugin / "setup.py").write_text(PLUGIN_SETUP)
    (plugin / "medsenteval_plugin_test.py").write_text(PLUGIN)
    python = environment(tmp_path / "env")
    install(python, source, cwd=tmp_path)
    install(python, plugin, cwd=tmp_path)
    command = python.parent / "medsenteval"
    assert "TinyTask" in run(command, "tasks", cwd=tmp_path)
    assert "tiny" in run(command, "encoders", cwd=tmp_path)
    table = run(command, "run", "-e", "tiny:aeiou,case=lower", "-t", "tinytask", cwd=tmp_path)
    assert "TinyTask  tiny" in table
    refused = subprocess.run([str(command), "run", "-t", "TinyTsk"], cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "did you mean 'TinyTask'" in refused.stderr
