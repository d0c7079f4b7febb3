"""Draw mutants of the product's files and run for each the tests that mirror its file.

    python -m tests.mutation --sample 80 --seed 1 [--only medsenteval/statistics ...] [--list]

Each mutant is written into a copy of the repository. A test that fails, an error while tests are collected, or a run beyond the
limit means that it was noticed. Tests marked ``slow`` run only where the others noticed nothing. What survives is printed: it
is a hole in the tests, or a change that no test can see.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

from tests.mutation.mutants import Mutant, mutants_of

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = ("medsenteval", "tasks", "encoders")
_UNWANTED = shutil.ignore_patterns("__pycache__", ".git", ".*_cache", ".venv", "site")


def tests_for(file: Path, repository: Path) -> list[Path]:
    """Return the test files that mirror a file: of its name, else those of its folder that import it, else all of the folder.

    A folder without tests is covered by those of the folder above.
    """
    inner = file.relative_to("medsenteval") if file.parts[0] == "medsenteval" else file
    dotted = ".".join(["medsenteval", *inner.with_suffix("").parts]).removesuffix(".__init__")
    folder = repository / "tests" / inner.parent
    while True:
        below = sorted(folder.glob("test_*.py")) if folder.is_dir() else []
        package, _, module = dotted.rpartition(".")
        imports = re.compile(rf"\b{re.escape(dotted)}\b|from {re.escape(package)} import [^\n]*\b{re.escape(module)}\b")
        named = [path for path in below if path.stem == f"test_{inner.stem}"]
        chosen = named + [path for path in below if path not in named and imports.search(path.read_text("utf-8"))] or below
        if chosen or folder == repository / "tests":
            return chosen
        folder = folder.parent


def _run_tests(tree: str, paths: list[str], marked: str, limit: int) -> None:
    """Run tests in this process, which was forked from one that has imported the large libraries."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    os.chdir(tree)
    os.environ["PYTHONPATH"] = tree
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    sys.path[:] = [tree, *(entry for entry in sys.path if entry not in ("", str(REPOSITORY)))]
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "medsenteval")]:
        del sys.modules[name]
    import pytest

    # No test collected is as good as passed.
    code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", marked, *paths]))
    os._exit(0 if code == 5 else code)


def _noticed(tree: Path, mutant: Mutant, limit: int) -> str:
    """Say how the tests noticed a mutant that is in place, or return nothing."""
    paths = [str(path.relative_to(tree)) for path in tests_for(mutant.file, tree)]
    usual = "not browser and not install"
    for marked in (f"not slow and {usual}", f"slow and {usual}"):
        process = multiprocessing.get_context("fork").Process(target=_run_tests, args=(str(tree), paths, marked, limit))
        process.start()
        # The limit is one of processor time, which a busy machine does not shorten; what waits for ever is stopped, too.
        process.join(20 * limit)
        if process.is_alive() or process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL):
            process.kill()
            process.join()
            return "ran too long"
        if process.exitcode:
            return "noticed" if "not slow" in marked else "noticed by slow tests"
    return ""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("--sample", type=int, default=80, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], help="files or folders to draw from")
    parser.add_argument("--limit", type=int, default=300, help="seconds of processor time for the tests of one mutant")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the sample and the tests for it, and run nothing")
    chosen = parser.parse_args(arguments)
    sources = {
        path.relative_to(REPOSITORY): path.read_text("utf-8")
        for room in ROOMS
        for path in sorted((REPOSITORY / room).rglob("*.py"))
        if not chosen.only or any(path.is_relative_to(REPOSITORY / only) for only in chosen.only)
    }
    everything = [mutant for file, source in sources.items() for mutant in mutants_of(file, source)]
    sample = random.Random(chosen.seed).sample(everything, min(chosen.sample, len(everything)))
    print(f"{len(sample)} of {len(everything)} mutants of {len(sources)} files, seed {chosen.seed}", flush=True)
    if chosen.list:
        for mutant in sample:
            print(mutant.describe(sources[mutant.file]), *(path.name for path in tests_for(mutant.file, REPOSITORY)))
        return 0
    # Imported here once, so that no fork has to.
    import hypothesis  # noqa: F401
    import scipy.stats  # noqa: F401
    import sklearn.linear_model  # noqa: F401

    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ.setdefault("MEDSENTEVAL_REALDATA", str(REPOSITORY.parent / "shared" / "realdata"))
    with tempfile.TemporaryDirectory() as place:
        trees: Queue[Path] = Queue()
        for number in range(chosen.jobs):
            trees.put(Path(shutil.copytree(REPOSITORY, Path(place) / str(number), ignore=_UNWANTED)))

        def judge(mutant: Mutant) -> bool:
            tree, source, started = trees.get(), sources[mutant.file], time.monotonic()
            (tree / mutant.file).write_text(mutant.apply(source), "utf-8")
            try:
                how = _noticed(tree, mutant, chosen.limit)
            finally:
                (tree / mutant.file).write_text(source, "utf-8")
                trees.put(tree)
            seconds = time.monotonic() - started
            print(f"{how or 'SURVIVED':21} {seconds:4.0f} s  {mutant.describe(source)}", flush=True)
            return bool(how)

        with ThreadPoolExecutor(chosen.jobs) as pool:
            noticed = sum(pool.map(judge, sample))
    print(f"{noticed} of {len(sample)} noticed: {noticed / len(sample):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
