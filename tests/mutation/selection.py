"""Which tests are asked about a changed file: those that are named after it or import it, wherever they stand."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

__all__ = ["tests_for"]

#: Steps up the imports of the product, from a file that no test imports to files that one does.
_MOST_STEPS = 3
#: Test files that are asked, at most: what half the product imports is in all of them.
_MOST_FILES = 8


def tests_for(file: Path, repository: Path) -> list[Path]:
    """Return the test files of a product file, those of its own room first.

    A command is tested by whatever runs it. A file that no test imports is tested through the files that import it.
    """
    tests = _texts(repository / "tests", "test_*.py")
    near, reached = {file}, {file}
    for _ in range(_MOST_STEPS):
        chosen = [path for path, text in tests.items() if any(_is_test_of(path, text, each, repository) for each in near)]
        if chosen:
            order = sorted(chosen, key=lambda path: _distance(path, tests[path], file))
            return order[:_MOST_FILES]
        sources = {path: text for top in ("medsenteval", "tasks", "encoders")
                   for path, text in _texts(repository / top, "*.py").items()}  # fmt: skip
        near = {
            path.relative_to(repository) for path, text in sources.items() if any(_imports(text, each) for each in near)
        } - reached
        reached |= near
    folder = repository / "tests" / _inner(file).parent
    while not list(folder.glob("test_*.py")):
        folder = folder.parent
    return sorted(folder.glob("test_*.py"))


def _distance(path: Path, text: str, file: Path) -> tuple[bool, bool, bool, int]:
    return path.stem != f"test_{file.stem}", not _imports(text, file), _inner(file).parts[0] not in path.parts, len(text)


def _inner(file: Path) -> Path:
    return file.relative_to("medsenteval") if file.parts[0] == "medsenteval" else file


@cache
def _texts(folder: Path, pattern: str) -> dict[Path, str]:
    return {path: path.read_text("utf-8") for path in sorted(folder.rglob(pattern))}


def _is_test_of(path: Path, text: str, file: Path, repository: Path) -> bool:
    inner = _inner(file)
    if path.stem == f"test_{inner.stem}" and path.parent.name in (inner.parent.name, "tests"):
        return True
    if len(inner.parts) > 1 and path.parent == repository / "tests" / inner.parent:
        return True
    if inner.parts[0] == "cli":
        source = (repository / file).read_text("utf-8")
        commands = [name.replace("_", "-") for name in re.findall(r"^def ([a-z]\w*)\(", source, flags=re.MULTILINE)]
        return "medsenteval.cli.main" in text and any(f'"{name}"' in text for name in commands)
    return _imports(text, file)


@cache
def _pattern(file: Path) -> re.Pattern[str]:
    dotted = ".".join(["medsenteval", *_inner(file).with_suffix("").parts]).removesuffix(".__init__")
    package, _, module = dotted.rpartition(".")
    imported = rf"\bfrom {re.escape(package)} import (?:\([^)]*|[^\n]*)\b{re.escape(module)}\b"
    return re.compile(rf"\b(?:from|import) {re.escape(dotted)}\b(?!\.)|{imported}|[\"']{re.escape(dotted)}[.\"']")


def _imports(text: str, file: Path) -> bool:
    return _pattern(file).search(text) is not None
