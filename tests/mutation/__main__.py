"""Draw mutants of the product's files and run for each the tests that run its line.

    python -m pytest --rootdir . -p tests.mutation.selection --lines FOLDER -m "not browser and not install"
    python -m tests.mutation --lines FOLDER --sample 130 --seed 1 [--only medsenteval/statistics ...] [--list]

The first command notes which test runs which line, in parts if need be; it holds until lines are moved. Each mutant is then
written into a copy of the repository. A test that fails and passes without the mutant, an error while tests are collected, or
a run beyond the limit, unless it goes beyond without the mutant, too, means that it was noticed. What survives is a hole in
the tests, or a change that no test can see.
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


def _run_tests(tree: str, tests: list[str], limit: int, failed: str, stop: bool) -> None:
    """Run tests in this process, which was forked from one that has imported the large libraries.

    What failed is written to a file, if any test did.
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
                with open(failed, "a", encoding="utf-8") as stream:
                    stream.write(f"{report.nodeid}\n")

    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *(["-x"] if stop else [])]
    os._exit(int(pytest.main([*options, *files], plugins=[Chosen()])))


def _failures(tree: Path, tests: list[str], limit: int, stop: bool = True) -> list[str]:
    """Return the tests that fail, or the first; "collection" where none could be run, "time" where they do not end."""
    failed = tree / "failed.txt"
    failed.unlink(missing_ok=True)
    arguments = (str(tree), tests, limit, str(failed), stop)
    process = multiprocessing.get_context("fork").Process(target=_run_tests, args=arguments)
    process.start()
    # The limit is one of processor time, which a busy machine does not shorten; what waits for ever is stopped, too.
    process.join(20 * limit)
    if process.is_alive() or process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL):
        process.kill()
        process.join()
        return ["time"]
    if not process.exitcode:
        return []
    return failed.read_text("utf-8").splitlines() if failed.is_file() else ["collection"]


def _write(path: Path, source: str) -> None:
    """Write a source with a time of its own, by which Python tells that what it compiled before is out of date."""
    path.write_text(source, "utf-8")
    os.utime(path, (stamp := next(_STAMPS), stamp))


def _noticed_by(tree: Path, mutant: Mutant, source: str, tests: list[str], limit: int) -> str:
    """Put a mutant in place and return the first test that fails, "collection", "time", or nothing."""
    bounds = [0, *(bound for bound in _BATCHES if bound < len(tests)), len(tests)]
    _write(tree / mutant.file, mutant.apply(source))
    try:
        for start, stop in pairwise(bounds):
            if found := _failures(tree, tests[start:stop], limit):
                break
        else:
            return ""
    finally:
        _write(tree / mutant.file, source)
    # Tests that do not end without the mutant either have judged nothing.
    return found[0] if found != ["time"] or _failures(tree, tests[start:stop], limit) != ["time"] else ""


def _judge(tree: Path, sample: list[Mutant], sources: dict[Path, str], lines: Path, limit: int) -> dict[Mutant, str]:
    """Return what noticed each mutant, or nothing; a test that fails without any mutant has noticed none."""
    noticed: dict[Mutant, str] = {}
    broken: set[str] = set()
    while left := [mutant for mutant in sample if mutant not in noticed or noticed[mutant] in broken]:
        for mutant in left:
            source, started, spent = sources[mutant.file], time.monotonic(), 0.0
            tests: list[str] = []
            for test, seconds in tests_of(lines, mutant.file, range(mutant.line, source.count("\n", 0, mutant.end) + 2)):
                spent += seconds
                if test not in broken and (not tests or spent < limit):
                    tests.append(test)
            noticed[mutant] = _noticed_by(tree, mutant, source, tests, 3 * limit) if tests else ""
            how = f"noticed ({noticed[mutant]})" if noticed[mutant] else f"SURVIVED {len(tests)} tests"
            print(f"{time.monotonic() - started:4.0f} s  {mutant.describe(source)}: {how}", flush=True)
        judges = sorted({test for test in noticed.values() if "::" in test} - broken)
        broken |= set(_failures(tree, judges, 100 * limit, stop=False)) if judges else set()
        if broken:
            print("fail without any mutant, too:", *sorted(broken), flush=True)
    return noticed


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
    os.environ.setdefault("MEDSENTEVAL_REALDATA", str(REPOSITORY.parent / "shared" / "realdata"))
    with tempfile.TemporaryDirectory() as place:
        tree = Path(shutil.copytree(REPOSITORY, Path(place) / "copy", ignore=_UNWANTED))
        noticed = _judge(tree, sample, sources, chosen.lines, chosen.limit)
    for mutant in sample:
        if not noticed[mutant]:
            print("SURVIVED", mutant.describe(sources[mutant.file]))
    found = sum(map(bool, noticed.values()))
    print(f"{found} of {len(sample)} noticed: {found / max(len(sample), 1):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
