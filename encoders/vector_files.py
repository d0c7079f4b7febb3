"""Word-vector files in the formats of GloVe, word2vec and fastText, converted once to a memory-mapped matrix."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.cache import cache_folder
from medsenteval.errors import EncoderError

__all__ = ["VectorTable", "open_vectors"]

_LAYOUT: Final = 1
_ROWS_A_FLUSH: Final = 4096


@dataclass(frozen=True, eq=False)
class VectorTable:
    """A vocabulary and its vectors; ``sha256`` is the hash of the file that they came from."""

    row_of: dict[str, int]
    matrix: NDArray[np.float32]
    sha256: str
    duplicates: int = 0


def open_vectors(path: Path) -> VectorTable:
    """Open a word-vector file, converting it on first use; later runs map the converted matrix.

    The converted copy belongs to the file's path, size and time of change; the hash of its content goes into identities.
    """
    if path.is_dir():
        raise EncoderError(f"{path} is a folder; expected a file of word vectors (GloVe, word2vec or fastText .vec)")
    try:
        status = path.stat()
    except OSError as error:
        raise EncoderError(f"{path}: cannot be read: {error.strerror}; expected a file of word vectors") from error
    key = hashlib.sha256(f"{_LAYOUT}|{path.resolve()}|{status.st_size}|{status.st_mtime_ns}".encode()).hexdigest()[:24]
    folder = cache_folder() / "vectors" / key
    if not (folder / "meta.json").is_file():
        _convert(path, folder)
    meta = json.loads((folder / "meta.json").read_text("utf-8"))
    words = (folder / "words.txt").read_text("utf-8").split("\n")
    matrix = np.load(folder / "matrix.npy", mmap_mode="r", allow_pickle=False)
    if len(words) != len(matrix):
        raise EncoderError(f"{folder}: {len(words)} words for {len(matrix)} vectors; delete this folder to convert again")
    row_of = {word: row for row, word in enumerate(words)}
    return VectorTable(row_of, matrix, meta["sha256"], meta["duplicates"])


def _convert(path: Path, folder: Path) -> None:
    """Write matrix, vocabulary and description under a temporary name and rename, so that a half-made copy is never opened."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".converting-", dir=folder.parent))
    try:
        words: dict[str, None] = {}
        duplicates, dimension = 0, 0
        with open(scratch / "rows.bin", "wb") as rows:
            pending: list[NDArray[np.float32]] = []
            for word, vector in _read(path):
                if word in words:
                    duplicates += 1  # the first one stands, as in gensim
                    continue
                words[word] = None
                dimension = len(vector)
                pending.append(vector)
                if len(pending) == _ROWS_A_FLUSH:
                    rows.write(np.stack(pending).tobytes())
                    pending.clear()
            if pending:
                rows.write(np.stack(pending).tobytes())
        if not words:
            raise EncoderError(f"{path}: no word vectors in it; expected lines 'word number number ...'")
        matrix = np.memmap(scratch / "rows.bin", dtype=np.float32, mode="r", shape=(len(words), dimension))
        np.save(scratch / "matrix.npy", matrix, allow_pickle=False)
        del matrix
        (scratch / "rows.bin").unlink()
        (scratch / "words.txt").write_text("\n".join(words), "utf-8", newline="\n")
        meta = {"source": str(path), "sha256": _sha256(path), "duplicates": duplicates}
        (scratch / "meta.json").write_text(json.dumps(meta), "utf-8")
        try:
            os.replace(scratch, folder)
        except OSError:
            # Another process finished the same conversion first; its copy is as good.
            if not (folder / "meta.json").is_file():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _read(path: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield words with their vectors from a word2vec binary file or from text, told apart by content."""
    with open(path, "rb") as stream:
        first = stream.readline(1 << 16)
        sample = stream.read(1 << 16)
        header = _header(first)
        stream.seek(0)
        # Text vectors hold no byte below a blank except white space; binary float32 nearly always do.
        if header and any(byte < 32 and byte not in b"\t\n\r" for byte in sample):
            stream.readline()
            yield from _read_binary(path, stream, *header)
        else:
            yield from _read_text(path, stream, header)


def _header(line: bytes) -> tuple[int, int] | None:
    fields = line.split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        return int(fields[0]), int(fields[1])
    return None


def _read_text(path: Path, stream: BinaryIO, header: tuple[int, int] | None) -> Iterator[tuple[str, NDArray[np.float32]]]:
    dimension = header[1] if header else None
    count = 0
    for number, raw in enumerate(stream, start=1):
        if header and number == 1:
            continue
        try:
            line = raw.decode("utf-8").rstrip("\r\n ")
        except UnicodeDecodeError as error:
            remedy = "is this a binary or compressed file?"
            raise EncoderError(f"{path}:{number}: not UTF-8 text: {error.reason}; {remedy}") from error
        if not line:
            continue
        if dimension is None:
            dimension = line.count(" ")
        # Counted from the right, because GloVe 840B has words that hold blanks.
        word, *numbers = line.rsplit(" ", dimension)
        try:
            vector = np.array(numbers, dtype=np.float32)
        except ValueError:
            vector = np.empty(0, dtype=np.float32)
        if dimension == 0 or len(vector) != dimension or not np.isfinite(vector).all():
            raise EncoderError(
                f"{path}:{number}: expected a word and {dimension} finite numbers separated by blanks, got {line[:60]!r}"
            )
        count += 1
        yield word, vector
    if header and count != header[0]:
        raise EncoderError(f"{path}: its first line promises {header[0]} words, it holds {count}; is the download complete?")


def _read_binary(path: Path, stream: BinaryIO, count: int, dimension: int) -> Iterator[tuple[str, NDArray[np.float32]]]:
    size = 4 * dimension
    for number in range(count):
        name = bytearray()
        while (byte := stream.read(1)) != b" ":
            if not byte or len(name) > 10_000:
                raise EncoderError(f"{path}: ends or loses its way at word {number + 1} of the {count} it promises")
            if byte != b"\n" or name:
                name += byte
        raw = stream.read(size)
        if len(raw) != size:
            raise EncoderError(f"{path}: ends within the vector of word {number + 1} of the {count} it promises")
        vector = np.frombuffer(raw, dtype="<f4").astype(np.float32)
        if not np.isfinite(vector).all():
            raise EncoderError(f"{path}: the vector of word {number + 1} is not finite; is the dimension really {dimension}?")
        yield name.decode("utf-8", "replace"), vector
