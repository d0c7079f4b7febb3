"""The package as users get it: plain, wheel and editable install in new environments, the quick start, a real plug-in."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.documented import blocks, commands

pytestmark = [pytest.mark.slow, pytest.mark.install]

CHECK = """
import importlib.util, pathlib, sys
import medsenteval, medsenteval.tasks.sentence.rqe, medsenteval.encoders.adapt, medsenteval.datasets.locate
from medsenteval.comparison.published.numbers import read_table
assert len(read_table("medsenteval_table3")) == 252
root = medsenteval.datasets.locate.sample_root()
assert (root / "BIOSSES" / "Annotation-Pairs.docx").is_file(), root
assert (root / "SYNTHETIC.txt").is_file(), root
assert (pathlib.Path(medsenteval.__file__).parent / "py.typed").is_file()
print(medsenteval.__file__)
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


@pytest.fixture(scope="module")
def plain(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment into which a clean copy was installed as the README says."""
    folder = tmp_path_factory.mktemp("plain")
    python = environment(folder / "env")
    install(python, source, cwd=folder)
    return python


@pytest.mark.parametrize("kind", ["plain", "wheel", "editable"])
def test_every_kind_of_install_works(kind: str, source: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    python = request.getfixturevalue("plain") if kind == "plain" else environment(tmp_path / "env")
    if kind == "wheel":
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / "dist", source, cwd=tmp_path)
        (wheel,) = (tmp_path / "dist").glob("*.whl")
        install(python, wheel, cwd=tmp_path)
    elif kind == "editable":
        install(python, "-e", source, cwd=tmp_path)
    location, score = run(python, "-c", CHECK, cwd=tmp_path).split()
    assert float(score) > 0.3
    assert location.startswith(str(source if kind == "editable" else python.parents[1]))
    assert "MedNLI" in run(python.parent / "medsenteval", "tasks", cwd=tmp_path)
    # Started at the top of the clone, Python finds the clone's package first; that must work too.
    location, score = run(python, "-c", CHECK, cwd=source).split()
    assert float(score) > 0.3
    assert location.startswith(str(source))


@pytest.mark.realdata
def test_the_quick_start_leads_to_a_comparison_on_real_data(plain: Path, realdata: Path, glove: Path, tmp_path: Path) -> None:
    """A newcomer's hour: a new environment, following docs/index.md word for word to a comparison of two encoders."""
    home, work = tmp_path / "home", tmp_path / "work"
    (home / "Downloads").mkdir(parents=True)
    work.mkdir()
    for file in (*(realdata / "rqe").glob("*.xml"), *(realdata / "biosses" / "BIOSSES-Dataset").glob("*.docx")):
        (home / "Downloads" / file.name).symlink_to(file)
    (work / "glove.6B.100d.txt").symlink_to(glove)
    (home / ".cache").mkdir()
    (home / ".cache" / "medsenteval").symlink_to(os.environ["MEDSENTEVAL_CACHE"])  # with the vectors converted
    surroundings = {
        name: value for name, value in os.environ.items() if not name.startswith(("MEDSENTEVAL_", "PYTHON", "XDG_"))
    }
    surroundings |= {"HOME": str(home), "PATH": f"{plain.parent}{os.pathsep}{os.environ['PATH']}"}
    printed: dict[str, str] = {}
    for block in blocks(REPOSITORY / "docs" / "index.md"):
        if block.language != "sh":
            continue
        for words in commands(block.text):
            # The installation was done above, without the network; without it nothing can be fetched either.
            if words[0] != "medsenteval" or words[1:3] == ["data", "fetch"]:
                assert block.not_run, block.place
                continue
            given = [word.replace("~", str(home)) for word in words]
            finished = subprocess.run(given, cwd=work, env=surroundings, capture_output=True, text=True)
            assert finished.returncode == 0, f"{block.place}: {shlex.join(words)}\n{finished.stdout}\n{finished.stderr}"
            printed[" ".join(words[1:])] = finished.stdout

    assert "SYNTHETIC" in printed["run"]
    status = printed["data status sentence --data my-data"]
    assert re.search(r"RQE +sentence +ready +train 8,588, test 302", status)
    assert re.search(r"BIOSSES +sentence +ready +100 rows", status)
    assert "99.67" in printed["data show RQE --data my-data"]
    scores = next(text for command, text in printed.items() if command.startswith("run --data my-data"))
    assert "SYNTHETIC" not in scores
    assert re.search(r"RQE +glove +acc +\d\d\.\d\d .*57\.28 +302", scores)
    comparison = printed["compare my-results/"]
    assert "SYNTHETIC" not in comparison
    assert re.search(r"BIOSSES +pearson +glove +lexical +-0\.\d+ .*paired bootstrap +100", comparison)
    assert re.search(r"RQE +acc +glove +lexical .*McNemar +302", comparison)
    assert "BioBERT [medsenteval-3]" in printed["compare my-results/ --with published"]
    assert (work / "report.html").stat().st_size > 10_000


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


def test_an_installed_plug_in_adds_a_task_and_an_encoder(plain: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    plugin.mkdir()
    (plugin / "setup.py").write_text(PLUGIN_SETUP)
    (plugin / "medsenteval_plugin_test.py").write_text(PLUGIN)
    install(plain, plugin, cwd=tmp_path)
    command = plain.parent / "medsenteval"
    assert "TinyTask" in run(command, "tasks", cwd=tmp_path)
    assert "tiny" in run(command, "encoders", cwd=tmp_path)
    table = run(command, "run", "-e", "tiny:aeiou,case=lower", "-t", "tinytask", cwd=tmp_path)
    assert "TinyTask  tiny" in table
    refused = subprocess.run([str(command), "run", "-t", "TinyTsk"], cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "did you mean 'TinyTask'" in refused.stderr
