"""Word-vector files converted once to a list of words and a matrix, which is then memory-mapped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.embedding.cache import cache_folder, check_owner
from medsenteval.encoders.static.vector_formats import FileOptions, read_vectors
from medsenteval.errors import EncoderError
from medsenteval.support.atomic_files import scratch_folder, write_atomically, writing

_LAYOUT: Final = 4


@dataclass(frozen=True, eq=False)
class VectorTable:
    """Words and their rows in a memory-mapped matrix; ``sha256`` is the hash of words and vectors, whatever their file."""

    row_of: dict[str, int]
    matrix: NDArray[np.float32]
    sha256: str


def open_vectors(path: Path, options: FileOptions | None = None) -> VectorTable:
    """Open a word-vector file, converting it on first use; later openings map the converted copy.

    The converted copy belongs to the file's path, size and times of change; the hash of its content goes into identities.
    """
    chosen = options or FileOptions()
    files = [path, chosen.vocabulary_of(path)] if chosen.layout else [path]
    variant = json.dumps(asdict(chosen))
    folder, meta = converted_folder(files, "a file of word vectors", variant, partial(_convert, path, chosen))
    shape = (len(meta["words"]), meta["dimension"])
    try:
        matrix = np.memmap(folder / "matrix.f32", dtype=np.float32, mode="r", shape=shape)
    except (OSError, ValueError) as error:
        raise _damaged(folder, error) from error
    return VectorTable(numbered(meta["words"]), matrix, meta["sha256"])


def numbered(words: Iterable[str]) -> dict[str, int]:
    """Return the row of each word: its place among the words."""
    return {word: row for row, word in enumerate(words)}


def as_words(words: Iterable[bytes]) -> list[str]:
    """Decode the words of a file; what is not UTF-8 remains, so that two different words never become one."""
    return [word.decode("utf-8", "surrogateescape") for word in words]


def converted_folder(
    files: list[Path], expected: str, variant: str, convert: Callable[[Path], dict[str, Any]]
) -> tuple[Path, dict[str, Any]]:
    """Return the folder of a file's converted copy with its description, making it first if there is none.

    ``convert`` writes into a temporary folder that is renamed when it is complete, so that a half-made copy is never
    opened; of two processes that convert at once the second discards its copy. It may read further ``files``.
    """
    path = files[0]
    if path.is_dir():
        raise EncoderError(f"{path} is a folder; expected {expected}")
    before = _states(files, expected)
    key = hashlib.sha256(json.dumps([_LAYOUT, variant, before]).encode()).hexdigest()[:24]
    folder = cache_folder() / "vectors" / key
    # Who can change a copy can change every score that is made with it.
    for place in (cache_folder(), folder.parent, folder, *(folder / name for name in ("meta.json", "matrix.f32"))):
        check_owner(place, may_be_link=place in (cache_folder(), folder.parent))
    if not (folder / "meta.json").is_file():
        try:
            folder.parent.mkdir(0o700, parents=True, exist_ok=True)
            with scratch_folder("converting", folder.parent) as scratch:
                meta = convert(scratch)
                if _states(files, expected) != before:
                    raise EncoderError(f"{path}: changed while it was read; try again when it is complete")
                write_atomically(scratch / "meta.json", json.dumps({"source": str(path), **meta}))
                try:
                    os.replace(scratch, folder)
                except OSError:
                    # Another process finished the same conversion first; its copy is as good.
                    if not (folder / "meta.json").is_file():
                        raise
        except OSError as error:
            remedy = "MEDSENTEVAL_CACHE names another folder to use"
            raise EncoderError(f"{path}: cannot be converted in {folder.parent}: {error}; {remedy}") from error
    try:
        return folder, json.loads((folder / "meta.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise _damaged(folder, error) from error


def content_digest(words: Collection[bytes], matrix: NDArray[np.float32]) -> str:
    """Return the hash of words and vectors in their order: equal tables get equal identities from whatever file."""
    digest = hashlib.sha256(f"{matrix.shape}".encode())
    digest.update(np.fromiter(map(len, words), dtype="<i4", count=len(words)).tobytes())
    digest.update(b"".join(words))
    for begin in range(0, len(matrix), 4096):
        digest.update(np.ascontiguousarray(matrix[begin : begin + 4096], dtype="<f4").tobytes())
    return digest.hexdigest()


def _states(files: list[Path], expected: str) -> list[tuple[str, int, int, int]]:
    states = []
    for file in files:
        try:
            status = file.stat()
        except OSError as error:
            what = expected if file == files[0] else "a file that goes with it"
            raise EncoderError(f"{file}: cannot be read: {error.strerror}; expected {what}") from error
        states.append((str(file.resolve()), status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return states


def _damaged(folder: Path, error: Exception) -> EncoderError:
    return EncoderError(f"{folder}: the converted copy is damaged: {error}; delete this folder to convert again")


def _convert(path: Path, options: FileOptions, scratch: Path) -> dict[str, Any]:
    """Write the matrix, block by block, and return the words with the rest of the description."""
    from tqdm import tqdm

    words: dict[bytes, None] = {}
    dimension = 0
    # Minutes for the largest files; on a terminal someone waits for it.
    bar = tqdm(desc=f"converting {path.name}, once", unit=" words", unit_scale=True, leave=False, disable=None)
    with writing(scratch / "matrix.f32") as rows, bar:
        for block, vectors in read_vectors(path, options):
            bar.update(len(block))
            dimension = vectors.shape[1]
            # Of two that are the same the first one stands, as in gensim.
            first = {word: i for i, word in reversed(list(enumerate(block))) if word not in words}
            kept = sorted(first.values())
            words.update(dict.fromkeys(block))
            rows.write(np.ascontiguousarray(vectors[kept]).tobytes())
    if not words:
        raise EncoderError(f"{path}: no word vectors in it; expected lines 'word number number ...'")
    matrix = np.memmap(scratch / "matrix.f32", dtype=np.float32, mode="r", shape=(len(words), dimension))
    return {"sha256": content_digest(words, matrix), "dimension": dimension, "words": as_words(words)}
