"""What several tests share: where real data may be, an isolated cache, and small encoders."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray

# No example fails for being slow: how long one takes says more about the machine.
settings.register_profile("tests", deadline=None)
settings.register_profile("fast", deadline=None, max_examples=20)
_chosen = {"fast": False}


def pytest_configure(config: pytest.Config) -> None:
    """Try properties on fewer cases where slow tests are left out, as ``python -m tests --fast`` does."""
    _chosen["fast"] = "not slow" in config.getoption("markexpr", "")
    settings.load_profile("fast" if _chosen["fast"] else "tests")


def examples(most: int) -> int:
    """Return how many cases a property is tried on: a fifth, but at least ten, where slow tests are left out."""
    return min(most, max(10, most // 5)) if _chosen["fast"] else most


REPOSITORY = Path(__file__).resolve().parents[1]

# Tests that make tiny models import transformers themselves; version 4 of it trips over TensorFlow without its old Keras.
os.environ.setdefault("USE_TF", "0")
# Read when huggingface_hub is imported, which may be while tests are collected: a fixture would come too late, and a test that
# names a model of the hub would wait for minutes until it gives up.
os.environ["HF_HUB_OFFLINE"] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files whose tests take long, so that no process is left alone with one at the end."""
    marks = {"slow", "browser", "install", "realdata"}
    long = {item.path for item in items if any(mark.name in marks for mark in item.iter_markers())}
    items.sort(key=lambda item: item.path not in long)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: packed contents hold the second they were made in, on which processes disagree."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def _caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders with names of their own; pytest would look through all that there are for the next free name."""
    folder = tmp_path_factory.mktemp("caches")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def _isolated(_caches: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's cache and data folder, and the width of the terminal, out of the tests."""
    cache = next(_caches)
    cache.mkdir(0o700)
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(cache))
    monkeypatch.delenv("MEDSENTEVAL_DATA", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(scope="session")
def realdata() -> Path:
    """The folder of real data sets, beside the repository or where MEDSENTEVAL_REALDATA says."""
    folder = Path(os.environ.get("MEDSENTEVAL_REALDATA", REPOSITORY.parent / "shared" / "realdata"))
    if not folder.is_dir():
        pytest.skip(f"real data sets are not at {folder}; set MEDSENTEVAL_REALDATA to test on them")
    return folder


@pytest.fixture(scope="session")
def glove_file() -> Path:
    """The real GloVe 6B vectors of 100 dimensions, as text."""
    path = Path(os.environ.get("MEDSENTEVAL_GLOVE", "/nonexistent"))
    if not path.is_file():
        pytest.skip("MEDSENTEVAL_GLOVE names no file of the real GloVe 6B vectors")
    return path


@pytest.fixture
def glove(glove_file: Path, _isolated: None) -> Path:
    """The same, for tests that open them: converted once for all tests instead of once in each one's cache."""
    converted = glove_file.parent / "converted"
    converted.mkdir(0o700, exist_ok=True)
    (Path(os.environ["MEDSENTEVAL_CACHE"]) / "vectors").symlink_to(converted)
    return glove_file


class _Lazy:
    """A package that is imported when a test first asks for something in it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_") and attribute != "__version__":  # pytest asks all that it finds whether it is a test
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)


def lazily(name: str) -> Any:
    """Name a package at the top of a test file, which is skipped without it, and import it at its first use only.

    Every process collects all files, and importing what only slow tests or those of another process use takes seconds.
    """
    if find_spec(name.partition(".")[0]) is None:
        pytest.skip(f"needs the package {name}", allow_module_level=True)
    return _Lazy(name)


def needs_libarchive() -> None:
    """Skip the test that calls this where RAR archives cannot be opened."""
    try:
        import libarchive  # noqa: F401
    except Exception as error:  # libarchive-c without the system's library raises whatever ctypes does
        pytest.skip(f"RAR needs libarchive-c and the system's libarchive: {error}")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write files into a folder of their own: write({"train.txt": text or bytes}) returns the folder."""

    def write_files(contents: dict[str, str | bytes], folder: str = "data") -> Path:
        root = tmp_path / folder
        for name, content in contents.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return root

    return write_files


class CountingEncoder:
    """Deterministic vectors from character counts; remembers which batches it saw."""

    name = "counting"
    identity = "counting-1"

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.batches.append(list(texts))
        letters = "abcdefghijklmnopqrstuvwxyz "
        return np.array([[text.lower().count(c) for c in letters] for text in texts], dtype=np.float32)


@pytest.fixture
def counting() -> CountingEncoder:
    return CountingEncoder()


@contextmanager
def pipes(*paths: Path) -> Iterator[list[Path]]:
    """Make pipes, which nobody must wait for; yields those that were opened, whose readers get nothing."""
    opened: list[Path] = []
    inside = True

    def give_nothing(path: Path) -> None:
        os.close(os.open(path, os.O_WRONLY))  # waits for a reader
        if inside:
            opened.append(path)

    for path in paths:
        os.mkfifo(path)
        threading.Thread(target=give_nothing, args=(path,), daemon=True).start()
    try:
        yield opened
    finally:
        inside = False
        for path in paths:
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
