"""fastText .bin models: a word is the mean of its own vector and its character n-grams', so unknown words have one too.

The file is read where it is: its input matrix is memory-mapped, and only its dictionary is converted, once.
No package is needed.
"""

from __future__ import annotations

import hashlib
import mmap
import re
import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.datasets.recognise import file_digest
from medsenteval.embedding.pooling import POOLINGS, pool_rows
from medsenteval.encoders.static.converted_vectors import as_words, converted_folder, numbered
from medsenteval.encoders.static.tokens import look_up
from medsenteval.encoders.static.vectors import StaticEncoder
from medsenteval.errors import EncoderError

_MAGIC: Final = 793712314
_NEWEST_VERSION: Final = 12
_SUPERVISED, _SENT2VEC = 3, 4
_EXPECTED: Final = "a fastText .bin model"
_END_OF_SENTENCE: Final = "</s>"
_WORDS_A_BLOCK: Final = 2048
_ENTRY: Final = re.compile(rb"([^\0]*)\0.{9}", re.DOTALL)


@dataclass(frozen=True, eq=False)
class Model:
    """An opened model: its dictionary, its input matrix (words, then buckets of n-grams) and how n-grams are made."""

    words: list[str]
    matrix: NDArray[np.float32]
    shortest: int
    longest: int
    buckets: int
    sha256: str


class FastTextEncoder(StaticEncoder):
    """Mean or maximum of the words' vectors as fastText computes them."""

    def __init__(
        self, name: str, model: Model, *, case: str = "exact", tokenizer: str = "words", pooling: str = "mean"
    ) -> None:
        super().__init__("fasttext", numbered(model.words), case=case, tokenizer=tokenizer, pooling=pooling, poolings=POOLINGS)
        self.name = name
        self.dimension = int(model.matrix.shape[1])
        self.identity = f"fasttext-{model.sha256[:32]}-{case}-{tokenizer}-{pooling}"
        self._model = model

    def _located(self, words: list[str]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Compute the vectors of these words, and return which of them has one."""
        rows, always = look_up(words, self._row_of, self._case), self._case == "lower"
        # A word known only in lower case is that word, and has its n-grams.
        found = zip(words, rows.tolist(), strict=True)
        words = [word.lower() if always or (row >= 0 and word not in self._row_of) else word for word, row in found]
        vectors = np.empty((len(words), self.dimension), dtype=np.float32)
        places = np.arange(len(words), dtype=np.int32)
        for begin in range(0, len(words), _WORDS_A_BLOCK):
            block = slice(begin, begin + _WORDS_A_BLOCK)
            vectors[block], counts = self._word_vectors(words[block], rows[block])
            places[block][counts == 0] = -1
        return vectors, places

    def _word_vectors(self, words: list[str], rows: NDArray[np.int32]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the means of the words' own vectors and their n-grams', and of how many vectors each is the mean."""
        model = self._model
        # The library gives its own end-of-sentence mark no n-grams.
        spelled = [b"" if word == _END_OF_SENTENCE else f"<{word}>".encode("utf-8", "surrogatepass") for word in words]
        owners, buckets = subwords(spelled, model.shortest, model.longest, model.buckets)
        in_dictionary = np.flatnonzero(rows >= 0)
        all_owners = np.concatenate([in_dictionary, owners])
        all_rows = np.concatenate([rows[in_dictionary].astype(np.int64), len(model.words) + buckets])
        order = np.argsort(all_owners, kind="stable")
        counts = np.bincount(all_owners, minlength=len(words))
        # The rows needed are copied first: in the file they need not begin at a multiple of four bytes, as a product expects.
        needed, places = np.unique(all_rows[order], return_inverse=True)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        return pool_rows(model.matrix[needed], places.astype(np.int32), offsets, "mean"), counts


def subwords(
    marked: Sequence[bytes], shortest: int, longest: int, n_buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for every character n-gram of every word, given as "<word>", the word's number and the n-gram's bucket."""
    owners, buckets = array("q"), array("q")
    for owner, word in enumerate(marked if longest > 0 and n_buckets > 0 else ()):
        begins = [at for at, byte in enumerate(word) if byte & 0xC0 != 0x80]
        ends = [*begins[1:], len(word)]
        found = []
        for first, start in enumerate(begins):
            hashed, hashed_to = 2166136261, start
            for n_characters, end in enumerate(ends[first : first + longest], start=1):
                for byte in word[hashed_to:end]:
                    # FNV-1a, but over bytes that fastText takes as signed.
                    signed = byte | 0xFFFFFF00 if byte > 127 else byte
                    hashed = (hashed ^ signed) * 16777619 & 0xFFFFFFFF
                hashed_to = end
                # A single character at either end is only the mark that was put there.
                is_mark = n_characters == 1 and (first == 0 or end == len(word))
                if n_characters >= shortest and not is_mark:
                    found.append((end - start, start, hashed % n_buckets))
        owners.extend([owner] * len(found))
        buckets.extend(bucket for _, _, bucket in sorted(found))  # short ones first: the order decides a sum's last bits
    return np.array(owners, dtype=np.int64), np.array(buckets, dtype=np.int64)


def load(argument: str, case: str = "exact", tokenizer: str = "words", pooling: str = "mean") -> FastTextEncoder:
    """Load ``fasttext:PATH`` of a .bin model."""
    path = Path(argument).expanduser()
    _, meta = converted_folder([path], _EXPECTED, "fasttext", lambda _: _description(path))
    # "<f4" at an offset that need not be a multiple of four: NumPy reads it all the same.
    matrix = np.memmap(path, dtype="<f4", mode="r", offset=meta["offset"], shape=(meta["rows"], meta["dimension"]))
    model = Model(matrix=matrix, **{key: meta[key] for key in ("words", "shortest", "longest", "buckets", "sha256")})
    return FastTextEncoder(path.stem, model, case=case, tokenizer=tokenizer, pooling=pooling)


def from_gensim(name: str, words: list[str], vectors: Any) -> FastTextEncoder:
    """Wrap gensim's FastTextKeyedVectors, whose unknown words have n-grams too; ``words`` are in the order of its rows."""
    matrix = np.concatenate([vectors.vectors_vocab, vectors.vectors_ngrams]).astype(np.float32, copy=False)
    digest = hashlib.sha256(f"{words}|{vectors.min_n}|{vectors.max_n}|{matrix.shape}".encode("utf-8", "surrogatepass"))
    digest.update(np.ascontiguousarray(matrix).data)
    model = Model(words, matrix, vectors.min_n, vectors.max_n, vectors.bucket, digest.hexdigest())
    return FastTextEncoder(name, model)


def _description(path: Path) -> dict[str, Any]:
    """Check a model from end to end of its description; return its words and where its matrix is."""
    with open(path, "rb") as stream:
        try:
            words, meta = _read_description(path, stream)
        except (struct.error, MemoryError) as error:
            raise EncoderError(f"{path}: ends within its description; is this {_EXPECTED}, and complete?") from error
        size = path.stat().st_size
        end = meta["offset"] + 4 * meta["rows"] * meta["dimension"]
        if end + 17 > size:
            raise EncoderError(f"{path}: ends within its matrix of {meta['rows']} rows; is the download complete?")
        stream.seek(end)
        quantised, n_out, out_dimension = struct.unpack("<?qq", stream.read(17))
        expected = end + 17 + 4 * n_out * out_dimension
        if not quantised and expected != size:
            raise EncoderError(f"{path}: {expected} bytes were expected, it has {size}; is the download complete?")
    return {**meta, "sha256": file_digest(path), "words": as_words(words)}


def _read_description(path: Path, stream: BinaryIO) -> tuple[list[bytes], dict[str, int]]:
    head = stream.read(8)
    magic, version = struct.unpack("<ii", head.ljust(8, b"\0"))
    if magic != _MAGIC:
        hint = "; for text vectors (.vec) use vectors:PATH" if head[:1].isascii() and head[:1].isalnum() else ""
        raise EncoderError(f"{path}: does not begin as a fastText .bin model does{hint}; expected {_EXPECTED}")
    if version > _NEWEST_VERSION:
        raise EncoderError(f"{path}: is of version {version}; versions up to {_NEWEST_VERSION} can be read")
    dimension, _, _, _, _, _, _, kind, buckets, shortest, longest, _, _ = struct.unpack("<12id", stream.read(56))
    if kind >= _SENT2VEC:
        raise EncoderError(
            f"{path}: is a sent2vec model (as BioSentVec), for which no maintained reader can be installed (PyPI's sent2vec is "
            "something else); build github.com/epfml/sent2vec and give its function from texts to vectors: python:MODULE:OBJECT"
        )
    if kind == _SUPERVISED and version == 11:
        longest = 0  # supervised models of that version had no character n-grams, whatever they say
    size, n_words, n_labels, _, pruned = struct.unpack("<iiiqq", stream.read(28))
    if min(dimension, n_words, size - n_words) < 0 or size != n_words + n_labels or dimension == 0:
        raise EncoderError(f"{path}: promises {n_words} words of {dimension} dimensions; expected {_EXPECTED}")
    words = _read_dictionary(path, stream, size)[:n_words]
    quantised = struct.unpack("<?", stream.read(1))[0] if pruned <= 0 else True
    if quantised:
        raise EncoderError(f"{path}: is quantised (.ftz), which holds no exact vectors; expected {_EXPECTED}")
    rows, columns = struct.unpack("<qq", stream.read(16))
    if columns != dimension or buckets < 0 or rows < n_words + (buckets if longest > 0 else 0):
        raise EncoderError(f"{path}: its matrix is {rows} x {columns} for {n_words} words of {dimension} dimensions")
    meta = {"offset": stream.tell(), "rows": rows, "dimension": dimension, "shortest": shortest, "longest": longest}
    return words, {**meta, "buckets": 0 if pruned == 0 else buckets}


def _read_dictionary(path: Path, stream: BinaryIO, size: int) -> list[bytes]:
    """Read entries of a word, a zero byte, a count of eight bytes and a type of one."""
    words: list[bytes] = []
    at = stream.tell()
    with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        while len(words) < size:
            found = _ENTRY.match(content, at)
            if found is None:
                raise EncoderError(f"{path}: ends at word {len(words) + 1} of the {size}; is the download complete?")
            words.append(found[1])
            at = found.end()
    stream.seek(at)
    return words
