"""Everything that must hold before a change lands: style, types, layers, tests. Run it as ``python -m tests``.

``--fast`` leaves out what takes long: tests marked slow, browser, install or realdata, and most random cases of properties.
``--coverage`` counts the lines that tests reach, which makes them slower. Other arguments go to pytest:
``python -m tests -m "not slow"``.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.report.browser import install_chromium
from tests.report.latex import install_latex

REPOSITORY = Path(__file__).resolve().parents[1]
#: Files side by side, but no more than memory has room for torch and TensorFlow; conftest.py puts the long ones first.
_MOST_PROCESSES = 4
_PARALLEL = ["--numprocesses", "logical", "--maxprocesses", str(_MOST_PROCESSES), "--dist", "loadfile"]
_PARALLEL += ["--no-loadscope-reorder"]
#: A test that hangs is ended by pytest-timeout; this ends what hangs outside of any test.
_LONGEST_SECONDS = 70 * 60
_FAST = ["-m", "not slow and not browser and not install and not realdata"]


def assemble(folder: Path) -> None:
    """Lay the clone's parts out as setup.py maps them, so that tools see this tree and not an installed copy."""
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "medsenteval", folder / "medsenteval", ignore=unwanted)
    for source, part in (("tasks", "tasks"), ("encoders", "encoders"), ("data/sample", "sample")):
        shutil.copytree(REPOSITORY / source, folder / "medsenteval" / part, ignore=unwanted)
    for scripts in ("tests", "benchmarks", "examples", "docs", "data"):
        shutil.copytree(
            REPOSITORY / scripts, folder / scripts, ignore=shutil.ignore_patterns("__pycache__", "sample", "fixtures")
        )


def real_glove() -> Path | None:
    """Return the real GloVe vectors, made by the program beside the real data sets if they are not named or made yet."""
    maker = REPOSITORY.parent / "shared" / "tools" / "real-glove"
    named = os.environ.get("MEDSENTEVAL_GLOVE")
    vectors = Path(named) if named else Path.home() / ".cache" / "medsenteval-tests" / "glove.6B.100d.vec"
    if vectors.is_file() or not maker.is_file():
        return vectors if vectors.is_file() else None
    vectors.parent.mkdir(parents=True, exist_ok=True)
    unfinished = vectors.with_suffix(f".{os.getpid()}")
    if subprocess.run([str(maker), str(unfinished)]).returncode != 0:
        return None
    unfinished.replace(vectors)
    return vectors


def run(command: list[str], folder: Path, environment: dict[str, str], captured: bool = False) -> tuple[bool, str]:
    """Return whether a command succeeded, and what it printed if that was captured."""
    if not captured:
        print("$", " ".join(command[1:]), flush=True)
    output, errors = (subprocess.PIPE, subprocess.STDOUT) if captured else (None, None)
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdout=output, stderr=errors, text=True, timeout=_LONGEST_SECONDS
        )
    except subprocess.TimeoutExpired:
        print(f"{' '.join(command[1:3])} was ended after {_LONGEST_SECONDS} s", flush=True)
        return False, ""
    return done.returncode == 0, done.stdout or ""


def main(arguments: list[str]) -> int:
    # A shell lets commands in the background ignore interrupts, and their children with them: tests interrupt some.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    python = sys.executable
    fast, coverage = "--fast" in arguments, "--coverage" in arguments
    arguments = [argument for argument in arguments if argument not in ("--fast", "--coverage")]
    settings = str(REPOSITORY / "pyproject.toml")
    # The processes that test share the cores: threads of more than their share only wait for one another.
    cores = os.cpu_count() or 1
    shared = {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": str(max(1, cores // min(cores, _MOST_PROCESSES)))}
    environment = {**shared, **os.environ}
    missing: list[str] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(1) as aside:
        assembled = Path(place)
        assemble(assembled)
        style = ([python, "-m", "ruff", "check", "."], [python, "-m", "ruff", "format", "--check", "."])
        failed += [" ".join(command[2:4]) for command in style if not run(command, REPOSITORY, environment)[0]]
        # The types take one core a minute or more: meanwhile what tests need is fetched, and they begin.
        packages = ["-p", "medsenteval", "-p", "tests", "-p", "benchmarks", "-p", "examples"]
        packages += ["-p", "docs", "-p", "data.synthesis"]
        types = [python, "-m", "mypy", "--config-file", settings, "--cache-dir", str(REPOSITORY / ".mypy_cache")]
        checks = [
            [*types, *packages],
            [
                python,
                "-c",
                "from importlinter.cli import lint_imports_command as run; run()",
                "--config",
                settings,
                "--no-cache",
            ],
        ]
        checking = aside.submit(lambda: [run(command, assembled, environment, captured=True) for command in checks])
        if not fast:
            if install_chromium() is None:
                missing.append("no Chromium was found, and neither playwright nor the package manager could install one")
            if install_latex() is None:
                missing.append("no LaTeX with booktabs was found, and the package manager could not install one")
            if (vectors := real_glove()) is None:
                missing.append("the real GloVe vectors could not be made (MEDSENTEVAL_GLOVE names a file of them)")
            else:
                environment["MEDSENTEVAL_GLOVE"] = str(vectors)
        chosen = [*(_FAST if fast else []), *(["--cov", "--cov-report=term"] if coverage else []), *arguments]
        # All steps run even if one fails, so that one run tells everything.
        if not run([python, "-m", "pytest", *_PARALLEL, *chosen], REPOSITORY, environment)[0]:
            failed.append("pytest")
        for command, (passed, printed) in zip(checks, checking.result(), strict=True):
            print("$", " ".join(command[1:]), printed, sep="\n", flush=True)
            # A checker that says nothing has checked nothing.
            if not passed or not re.search(r"^Success: no issues|, 0 broken", printed, re.MULTILINE):
                failed.append(" ".join(command[1:3]))
    for reason in missing:
        print(f"TESTS WERE SKIPPED: {reason}", flush=True)
    print("failed: " + ", ".join(failed) if failed else "style, types, layers and tests passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
