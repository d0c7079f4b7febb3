"""Draw mutants of the product's files and run for each the tests of its file.

    python -m tests.mutation --sample 80 --seed 1 [--only medsenteval/statistics ...] [--list]

Each mutant is written into a copy of the repository. A test that fails and passes without the mutant, an error while tests are
collected, or a run beyond the limit means that it was noticed. Tests marked ``slow`` run only where the others noticed nothing.
What survives is a hole in the tests, or a change that no test can see.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from queue import Queue

from tests.mutation.in_process import judge_together
from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.selection import tests_for

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = ("medsenteval", "tasks", "encoders")
_UNWANTED = shutil.ignore_patterns("__pycache__", ".git", ".*_cache", ".venv", "site")


def _run_tests(tree: str, paths: list[str], marked: str, limit: int, failed: str) -> None:
    """Run tests in this process, which was forked from one that has imported the large libraries.

    What failed first is written to a file, if any test did.
    """
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

    class First:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                Path(failed).write_text(report.nodeid, "utf-8")

    # No test collected is as good as passed.
    code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", marked, *paths], plugins=[First()]))
    os._exit(0 if code == 5 else code)


def _failure(tree: Path, paths: list[str], marked: str, limit: int) -> str:
    """Return the first test that fails, "collection", "time", or nothing where all pass."""
    failed = tree / "failed.txt"
    failed.unlink(missing_ok=True)
    arguments = (str(tree), paths, marked, limit, str(failed))
    process = multiprocessing.get_context("fork").Process(target=_run_tests, args=arguments)
    process.start()
    # The limit is one of processor time, which a busy machine does not shorten; what waits for ever is stopped, too.
    process.join(20 * limit)
    if process.is_alive() or process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL):
        process.kill()
        process.join()
        return "time"
    if not process.exitcode:
        return ""
    return failed.read_text("utf-8") if failed.is_file() else "collection"


def _verdict(tree: Path, mutant: Mutant, source: str, limit: int) -> str:
    """Put a mutant in place and say how the tests noticed it; a test that fails without it, too, has noticed nothing."""
    paths = [str(path.relative_to(REPOSITORY)) for path in tests_for(mutant.file, REPOSITORY)]
    usual = "not browser and not install"
    for marked, how in ((f"not slow and {usual}", "noticed"), (f"slow and {usual}", "noticed by slow tests")):
        (tree / mutant.file).write_text(mutant.apply(source), "utf-8")
        try:
            found = _failure(tree, paths, marked, limit)
        finally:
            (tree / mutant.file).write_text(source, "utf-8")
        if found and found != "collection" and _failure(tree, paths if found == "time" else [found], marked, limit):
            return f"UNJUDGED ({found})"
        if found:
            return f"{how} ({found})"
    return "SURVIVED"


def _verdicts_in_process(sample: list[Mutant], sources: dict[Path, str], place: Path, limit: int) -> dict[Mutant, str]:
    """Judge mutants file by file, each file's in forks of one process; those that it cannot judge or notice are left out."""
    by_file: dict[Path, list[Mutant]] = {}
    for mutant in sample:
        by_file.setdefault(mutant.file, []).append(mutant)
    verdicts: dict[Mutant, str] = {}
    for file, mutants in by_file.items():
        answers = place / "answers.txt"
        answers.write_text("", "utf-8")
        paths = [str(path.relative_to(REPOSITORY)) for path in tests_for(file, REPOSITORY)]
        marked = "not slow and not browser and not install"
        arguments = (REPOSITORY, mutants, sources[file], paths, marked, limit, answers)
        started = time.monotonic()
        process = multiprocessing.get_context("fork").Process(target=judge_together, args=arguments)
        process.start()
        process.join(20 * limit * (len(mutants) + 1))
        process.kill()
        process.join()
        told = dict(json.loads(line) for line in answers.read_text("utf-8").splitlines())
        for number, mutant in enumerate(mutants):
            found = told.get(number, "not judged: the tests were not collected")
            if found and not found.startswith("not judged"):
                verdicts[mutant] = f"noticed ({found})"
            shown = verdicts.get(mutant) or found or "not noticed by these tests"
            print(f"{time.monotonic() - started:4.0f} s  {mutant.describe(sources[file])}: {shown}", flush=True)
    return verdicts


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("--sample", type=int, default=80, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], help="files or folders to draw from")
    parser.add_argument("--limit", type=int, default=300, help="seconds of processor time for the tests of one mutant")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--again", nargs="*", default=[], metavar="MUTANT", help="of the sample, only these, as they were printed"
    )
    parser.add_argument("--quick", action="store_true", help="run no tests on a copy of the repository for what is left")
    parser.add_argument("--files", type=int, metavar="N", help="draw from so many files, themselves drawn by their size")
    parser.add_argument("--list", action="store_true", help="print the sample and the tests for it, and run nothing")
    chosen = parser.parse_args(arguments)
    sources = {
        path.relative_to(REPOSITORY): path.read_text("utf-8")
        for room in ROOMS
        for path in sorted((REPOSITORY / room).rglob("*.py"))
        if not chosen.only or any(path.is_relative_to(REPOSITORY / only) for only in chosen.only)
    }
    everything = [mutant for file, source in sources.items() for mutant in mutants_of(file, source)]
    rng = random.Random(chosen.seed)
    rng.shuffle(everything)
    if chosen.files:
        # The files of the first mutants of a random order are drawn with chances as their numbers of mutants.
        kept = set(islice(dict.fromkeys(mutant.file for mutant in everything), chosen.files))
        everything = [mutant for mutant in everything if mutant.file in kept]
    drawn = list(islice((mutant for mutant in everything if mutant.compiles(sources[mutant.file])), chosen.sample))
    sample = [mutant for mutant in drawn if not chosen.again or mutant.describe(sources[mutant.file]) in chosen.again]
    print(f"{len(sample)} of {len(everything)} mutants of {len(sources)} files, seed {chosen.seed}", flush=True)
    if chosen.list:
        for mutant in sample:
            print(mutant.describe(sources[mutant.file]), *(path.name for path in tests_for(mutant.file, REPOSITORY)))
        return 0
    # Imported here once, so that no fork has to.
    import hypothesis  # noqa: F401
    import numba  # noqa: F401
    import scipy.stats  # noqa: F401
    import sklearn.linear_model  # noqa: F401

    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ.setdefault("MEDSENTEVAL_REALDATA", str(REPOSITORY.parent / "shared" / "realdata"))
    with tempfile.TemporaryDirectory() as place:
        trees: Queue[Path] = Queue()
        for number in range(chosen.jobs):
            trees.put(Path(shutil.copytree(REPOSITORY, Path(place) / str(number), ignore=_UNWANTED)))

        verdicts = _verdicts_in_process(sample, sources, Path(place), chosen.limit)

        def judge(mutant: Mutant) -> str:
            source, started = sources[mutant.file], time.monotonic()
            how = verdicts.get(mutant, "")
            if not how and not chosen.quick:
                tree = trees.get()
                try:
                    how = _verdict(tree, mutant, source, chosen.limit)
                finally:
                    trees.put(tree)
                print(f"{time.monotonic() - started:4.0f} s  {mutant.describe(source)}: {how}", flush=True)
            return how or "SURVIVED"

        with ThreadPoolExecutor(chosen.jobs) as pool:
            verdicts = dict(zip(sample, pool.map(judge, sample), strict=True))
    noticed = sum("noticed" in how for how in verdicts.values())
    judged = sum("UNJUDGED" not in how for how in verdicts.values())
    print(f"{noticed} of {judged} noticed: {noticed / max(judged, 1):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
