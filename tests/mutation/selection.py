"""Which tests run which line: written down once while all tests run, then asked for every mutant.

    python -m pytest --rootdir . -p tests.mutation.selection --lines FOLDER [-m "not slow"] [tests/cli ...]

adds the tests that pass to those that a folder knows; ``tests_of`` returns them, those that run a line first, cheapest first.
"""

from __future__ import annotations

import ast
import json
import os
import re
import time
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import coverage
import pytest

__all__ = ["ROOMS", "tests_of"]

ROOMS = ("medsenteval", "tasks", "encoders")
REPOSITORY = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--lines", help="folder to note in which product lines each test runs")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--lines"):
        config.pluginmanager.register(_Recorder(Path(config.getoption("--lines"))))


class _Recorder:
    """Notes lines by test; those of a set-up, which may be one for all tests of a file, by file."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._seconds = folder / f"{os.getpid()}.json"
        self._passed: dict[str, float] = {}
        rooms = [str(REPOSITORY / room) for room in ROOMS]
        self._coverage = coverage.Coverage(str(folder / f"{os.getpid()}.coverage"), source=rooms, config_file=False)
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._coverage.switch_context(item.nodeid.partition("::")[0])
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._coverage.switch_context(item.nodeid)
        started = time.process_time()
        try:
            result = yield
            self._passed[item.nodeid] = time.process_time() - started
            return result
        finally:
            self._coverage.switch_context("")

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        self._seconds.write_text(json.dumps(self._passed), "utf-8")


def tests_of(folder: Path, file: Path, lines: range) -> Iterator[tuple[str, float]]:
    """Yield tests with the seconds that they take: those that run one of the lines, then those that run others of the file.

    The latter are there for what runs once, while a module is imported or a cache is filled. A file of compiled functions, in
    which hardly a test is seen to run a line, is judged by the tests of the files that name it, too.
    """
    seconds, here = _seconds(folder), _by_line(folder, file)
    first = {test for line in lines for test in here.get(line, ())}
    near = first.union(*here.values())
    if not near or "@compiled_loop" in (REPOSITORY / file).read_text("utf-8"):
        name = re.compile(rf"\b{file.stem}\b")
        users = [path for room in ROOMS for path in (REPOSITORY / room).rglob("*.py") if name.search(path.read_text("utf-8"))]
        near = near.union(*(tests for path in users for tests in _by_line(folder, path.relative_to(REPOSITORY)).values()))
        files = {test.partition("::")[0] for test in seconds}
        naming = {each for each in files if name.search((REPOSITORY / each).read_text("utf-8"))}
        near = near.union(test for test in seconds if test.partition("::")[0] in naming)
    # What runs while a module is imported is noted for the tests that happened to import it first, and concerns all others too.
    called = _in_functions(file, lines)
    for test in sorted(near, key=lambda test: (called and test not in first, seconds[test], test)):
        yield test, seconds[test]


def _in_functions(file: Path, lines: range) -> bool:
    """Say whether one of these lines is in the body of a function."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body for node in ast.walk(ast.parse((REPOSITORY / file).read_text("utf-8"))) if isinstance(node, functions)]
    return any(body[0].lineno <= lines[-1] and lines[0] <= (body[-1].end_lineno or 0) for body in bodies)


@cache
def _seconds(folder: Path) -> dict[str, float]:
    return {test: each for path in sorted(folder.glob("*.json")) for test, each in json.loads(path.read_text("utf-8")).items()}


@cache
def _by_line(folder: Path, file: Path) -> dict[int, frozenset[str]]:
    seconds = _seconds(folder)
    of_file: dict[str, list[str]] = {}
    for test in seconds:
        of_file.setdefault(test.partition("::")[0], []).append(test)
    found: dict[int, set[str]] = {}
    for path in sorted(folder.glob("*.coverage")):
        data = coverage.CoverageData(str(path))
        data.read()
        for line, contexts in data.contexts_by_lineno(str(REPOSITORY / file)).items():
            for context in contexts:
                tests = [context] if context in seconds else of_file.get(context, [])
                found.setdefault(line, set()).update(tests)
    return {line: frozenset(tests) for line, tests in found.items()}
