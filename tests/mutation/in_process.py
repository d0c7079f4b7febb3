"""Many mutants of one file, each in a fork of one process that has collected the tests and knows which of them run which line.

A mutant is put in place by giving living functions the code of the changed source, so that nothing is imported again. That does
not reach other processes, compiled kernels, or what runs once while a module is imported: such mutants are left to files.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

from tests.mutation.mutants import Mutant

__all__ = ["judge_together"]


def judge_together(
    repository: Path, mutants: Sequence[Mutant], source: str, paths: list[str], marked: str, limit: int, answers: Path
) -> None:
    """Write a line for each mutant of one file: its number, and the test that noticed it, "time", "" or why it was not judged.

    For a process of its own, which ends here.
    """
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os.chdir(repository)
    for name in [name for name in sys.modules if name.split(".")[0] == "medsenteval"]:
        del sys.modules[name]
    import pytest

    plugin = _Judge(repository, mutants, source, limit, answers)
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:timeout", "-m", marked]
    pytest.main([*options, *paths], plugins=[plugin])
    os._exit(0)


class _Judge:
    def __init__(self, repository: Path, mutants: Sequence[Mutant], source: str, limit: int, answers: Path) -> None:
        self._mutants, self._source, self._limit, self._answers = mutants, source, limit, answers
        file = mutants[0].file
        self._file = str(repository / file)
        parts = file.with_suffix("").parts
        self._name = ".".join(parts if parts[0] == "medsenteval" else ("medsenteval", *parts)).removesuffix(".__init__")

    def pytest_runtestloop(self, session: Any) -> bool:
        ran = self._answers.with_suffix(".lines")
        self._forked(lambda: self._trace(session.items, ran))
        # Tests that fail by themselves or did not come to an end are no judges.
        known = [json.loads(line) for line in ran.read_text("utf-8").splitlines()] if ran.is_file() else []
        with open(self._answers, "a", encoding="utf-8") as stream:
            for number, mutant in enumerate(self._mutants):
                lines = range(mutant.line, self._source.count("\n", 0, mutant.end) + 2)
                asked = sorted((each["seconds"], each["item"]) for each in known if set(each["lines"]) & set(lines))
                how = self._judge(mutant, [session.items[item] for _, item in asked])
                stream.write(json.dumps([number, how]) + "\n")
                stream.flush()
        return True

    def _judge(self, mutant: Mutant, items: list[Any]) -> str:
        told = self._answers.with_suffix(".told")
        told.unlink(missing_ok=True)
        if not items:
            return "not judged: no test of these runs the line"

        def run() -> None:
            if not _put_in_place(self._name, self._file, self._source, mutant.apply(self._source)):
                told.write_text("not judged: not in a living function", "utf-8")
                return
            for item, following in zip(items, [*items[1:], None], strict=True):
                if _failed(item, following):
                    told.write_text(item.nodeid, "utf-8")
                    return

        ended = self._forked(run)
        return told.read_text("utf-8") if told.is_file() else "" if ended else "time"

    def _trace(self, items: list[Any], ran: Path) -> None:
        """Run every test once and write down which lines of the file it runs."""
        with open(ran, "w", encoding="utf-8") as stream:
            for number, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
                lines: set[int] = set()

                def tracer(frame: FrameType, event: str, argument: Any, lines: set[int] = lines) -> Any:
                    if frame.f_code.co_filename != self._file:
                        return None
                    lines.add(frame.f_lineno)
                    return tracer

                started = time.process_time()
                threading.settrace(tracer)
                sys.settrace(tracer)
                failed = _failed(item, following)
                sys.settrace(None)
                threading.settrace(None)
                if lines and not failed:
                    seconds = time.process_time() - started
                    stream.write(json.dumps({"item": number, "lines": sorted(lines), "seconds": seconds}) + "\n")
                    stream.flush()

    def _forked(self, work: Any) -> bool:
        """Do something in a fork; returns whether it came to an end within the limit of processor time."""
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (self._limit, self._limit))
            try:
                work()
            finally:
                os._exit(0)
        return os.WIFEXITED(os.waitpid(child, 0)[1])


def _failed(item: Any, following: Any) -> bool:
    from _pytest.runner import runtestprotocol

    return any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


def _put_in_place(name: str, file: str, source: str, changed: str) -> bool:
    """Give living functions of a file the code of its changed source; returns whether any changed and all could."""
    import_module(name)
    pairs = zip(_codes(compile(source, file, "exec")), _codes(compile(changed, file, "exec")), strict=True)
    new = {(old.co_qualname, old.co_firstlineno): code for old, code in pairs if _differs(old, code)}
    found = 0
    for function in [each for each in gc.get_objects() if isinstance(each, FunctionType)]:
        code = function.__code__
        if code.co_filename == file and (code.co_qualname, code.co_firstlineno) in new:
            try:
                function.__code__ = new[code.co_qualname, code.co_firstlineno]
            except ValueError:  # it closes over other names
                return False
            found += 1
    return found > 0


def _codes(module: CodeType) -> Iterator[CodeType]:
    """Yield the code of functions and methods; that of a class body or of a module runs once, before any mutant."""
    for constant in module.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _differs(old: CodeType, new: CodeType) -> bool:
    if (old.co_code, old.co_names, len(old.co_consts)) != (new.co_code, new.co_names, len(new.co_consts)):
        return True
    return any(
        _differs(a, b) if isinstance(a, CodeType) and isinstance(b, CodeType) else (a != b or type(a) is not type(b))
        for a, b in zip(old.co_consts, new.co_consts, strict=True)
    )
