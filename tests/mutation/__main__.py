"""Draw mutants of the product's files and run for each the tests that run its line.

    python -m pytest -p tests.mutation.selection --lines FOLDER -m "not browser and not install"
    python -m tests.mutation --lines FOLDER --sample 130 --seed 1 [--only medsenteval/statistics ...] [--list]

The first command notes which test runs which line, in parts if need be; it holds until lines are moved. Each mutant is then
written into a copy of the repository. A test that fails and passes without the mutant, an error while tests are collected, or
a run beyond the limit means that it was noticed. What survives is a hole in the tests, or a change that no test can see.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from importlib import import_module
from itertools import count, islice, pairwise
from pathlib import Path

from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.selection import REPOSITORY, ROOMS, tests_of

_UNWANTED = shutil.ignore_patterns("__pycache__", ".git", ".*_cache", ".venv", "site")
#: Tests in the first runs for a mutant: most are noticed at once, and need not wait until all tests are collected.
_BATCHES = (6, 40)
_STAMPS = count(10**9)
_LARGE_LIBRARIES = (
    *("hypothesis", "matplotlib.figure", "numba", "pandas"),
    *("scipy.stats", "sklearn.linear_model", "statsmodels.stats.api", "torch"),
)


def _run_tests(tree: str, tests: list[str], limit: int, failed: str) -> None:
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

    places = {test: place for place, test in enumerate(tests)}

    class Chosen:
        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            items[:] = sorted((item for item in items if item.nodeid in places), key=lambda item: places[item.nodeid])

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                Path(failed).write_text(report.nodeid, "utf-8")

    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *files], plugins=[Chosen()]))
    os._exit(code)


def _failure(tree: Path, tests: list[str], limit: int) -> str:
    """Return the first test that fails, "collection", "time", or nothing where all pass."""
    failed = tree / "failed.txt"
    failed.unlink(missing_ok=True)
    arguments = (str(tree), tests, limit, str(failed))
    process = multiprocessing.get_context("fork").Process(target=_run_tests, args=arguments)
    process.start()
    # The limit is one of processor time, which a busy machine does not shorten; what waits for ever is stopped, too.
    process.join(5 * limit)
    if process.is_alive() or process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL):
        process.kill()
        process.join()
        return "time"
    if not process.exitcode:
        return ""
    return failed.read_text("utf-8") if failed.is_file() else "collection"


def _write(path: Path, source: str) -> None:
    """Write a source with a time of its own, by which Python tells that what it compiled before is out of date."""
    path.write_text(source, "utf-8")
    os.utime(path, (stamp := next(_STAMPS), stamp))


def _verdict(tree: Path, mutant: Mutant, source: str, lines: Path, limit: int) -> str:
    """Put a mutant in place and say how the tests noticed it; a test that fails without it, too, has noticed nothing."""
    tests: list[str] = []
    spent = 0.0
    for test, seconds in tests_of(lines, mutant.file, range(mutant.line, source.count("\n", 0, mutant.end) + 2)):
        spent += seconds
        if spent > limit and tests:
            break
        tests.append(test)
    if not tests:
        return "SURVIVED: no test runs this file"
    bounds = [0, *(bound for bound in _BATCHES if bound < len(tests)), len(tests)]
    for start, stop in pairwise(bounds):
        batch = tests[start:stop]
        while True:
            _write(tree / mutant.file, mutant.apply(source))
            found = _failure(tree, batch, 3 * limit)
            _write(tree / mutant.file, source)
            if not found:
                break
            if found in batch and _failure(tree, [found], 3 * limit):
                batch = batch[batch.index(found) + 1 :]  # it fails here by itself
                continue
            if found not in batch and (again := _failure(tree, batch, 3 * limit)):
                return f"UNJUDGED: without it, too, {again}"
            return f"noticed ({found})"
    return f"SURVIVED {len(tests)} tests"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("--lines", type=Path, required=True, help="folder that knows which test runs which line")
    parser.add_argument("--sample", type=int, default=130, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], help="files or folders to draw from")
    parser.add_argument("--limit", type=int, default=60, help="seconds that the tests of one mutant take, at most")
    parser.add_argument(
        "--again", nargs="*", default=[], metavar="MUTANT", help="of the sample, only these, as they were printed"
    )
    parser.add_argument("--list", action="store_true", help="print the sample and the tests for it, and run nothing")
    chosen = parser.parse_args(arguments)
    sources = {
        path.relative_to(REPOSITORY): path.read_text("utf-8")
        for room in ROOMS
        for path in sorted((REPOSITORY / room).rglob("*.py"))
        if not chosen.only or any(path.is_relative_to(REPOSITORY / only) for only in chosen.only)
    }
    everything = [mutant for file, source in sources.items() for mutant in mutants_of(file, source)]
    random.Random(chosen.seed).shuffle(everything)
    drawn = list(islice((mutant for mutant in everything if mutant.compiles(sources[mutant.file])), chosen.sample))
    sample = [mutant for mutant in drawn if not chosen.again or mutant.describe(sources[mutant.file]) in chosen.again]
    print(f"{len(sample)} of {len(everything)} mutants of {len(sources)} files, seed {chosen.seed}", flush=True)
    if chosen.list:
        for mutant in sample:
            tests = [test for test, _ in tests_of(chosen.lines, mutant.file, range(mutant.line, mutant.line + 1))]
            print(f"{mutant.describe(sources[mutant.file])}: {len(tests)} tests, {', '.join(tests[:2])}")
        return 0
    # Imported here once, so that no fork has to, nor looks through their objects for garbage.
    for name in _LARGE_LIBRARIES:
        import_module(name)
    gc.freeze()
    sys.dont_write_bytecode = False  # the copy is compiled once, and then each mutant only
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.setdefault("MEDSENTEVAL_REALDATA", str(REPOSITORY.parent / "shared" / "realdata"))
    verdicts = []
    with tempfile.TemporaryDirectory() as place:
        tree = Path(shutil.copytree(REPOSITORY, Path(place) / "copy", ignore=_UNWANTED))
        for mutant in sample:
            source, started = sources[mutant.file], time.monotonic()
            verdicts.append(_verdict(tree, mutant, source, chosen.lines, chosen.limit))
            print(f"{time.monotonic() - started:4.0f} s  {mutant.describe(source)}: {verdicts[-1]}", flush=True)
    noticed = sum("noticed" in how for how in verdicts)
    judged = sum("UNJUDGED" not in how for how in verdicts)
    print(f"{noticed} of {judged} noticed: {noticed / max(judged, 1):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
