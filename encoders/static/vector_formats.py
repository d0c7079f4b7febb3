"""Readers of word-vector files: GloVe and word2vec text, fastText .vec, word2vec binary, GloVe's own binary; .gz and .zip."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import IO, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from medsenteval.encoders.model_files import check_choices
from medsenteval.errors import EncoderError
from medsenteval.support.files import DAMAGED

LAYOUTS: Final = ("blocks", "adjacent")
ROWS: Final = ("word", "sum")

Block = tuple[list[bytes], NDArray[np.float32]]

_LINES_A_BLOCK: Final = 2048
_LINES_TO_MEASURE: Final = 100
_MAX_WORD_BYTES: Final = 10_000
#: Far above every embedding; what a header promises beyond it would only fill the memory.
_MOST_DIMENSIONS: Final = 1_000_000
_MOST_DIGITS: Final = 18
_MARK: Final = b"\xef\xbb\xbf"  # the byte order mark that some editors put before UTF-8
_NUMBER: Final = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf)", re.IGNORECASE)
_LONGEST_LINE: Final = 1 << 21
_EXPECTED: Final = "expected lines 'word number number ...', or a word2vec binary file with its header"
#: How files begin that people offer by mistake, and what to do instead.
_OTHER_KINDS: Final = (
    (b"\xba\x16\x4f\x2f", "a fastText .bin model; load it with fasttext:PATH"),
    (b"\x80", "a Python pickle (perhaps gensim's own format), which can run code; save it with save_word2vec_format"),
)


@dataclass(frozen=True)
class FileOptions:
    """What a file does not say of itself.

    ``member`` is the file wanted within a .zip. GloVe's own binary has neither words nor sizes: ``layout`` says that it is one
    and whether all context rows follow all word rows ("blocks", as the stock tool writes) or each word's two rows are
    "adjacent"; ``vocab`` is its vocab.txt; ``rows`` takes word rows alone or the sum of word and context row.
    """

    member: str = ""
    layout: str = ""
    vocab: str = ""
    rows: str = "word"

    def vocabulary_of(self, path: Path) -> Path:
        return Path(self.vocab).expanduser() if self.vocab else path.parent / "vocab.txt"


def read_vectors(path: Path, options: FileOptions) -> Iterator[Block]:
    """Yield words with their vectors, block by block; what the file is, its content tells."""
    if options.layout:
        yield from _read_glove_binary(path, options)
        return
    try:
        with _opened(path, options.member) as stream:
            head = stream.read(1 << 16)
            if not head:
                raise EncoderError(f"{path}: no word vectors in it, it is empty; {_EXPECTED}")
            for beginning, what in _OTHER_KINDS:
                if head.startswith(beginning):
                    raise EncoderError(f"{path}: this is {what}; {_EXPECTED}")
            stream.seek(len(_MARK) if head.startswith(_MARK) else 0)
            header = _header(head.removeprefix(_MARK).partition(b"\n")[0])
            if header:
                stream.readline()
            if header and _is_binary(head):
                yield from _read_word2vec_binary(path, stream, *header)
            else:
                yield from _read_text(path, stream, header)
    except EncoderError:
        raise
    except DAMAGED as error:
        raise EncoderError(f"{path}: cannot be unpacked: {error}; is the download complete?") from error


@contextmanager
def _opened(path: Path, member: str) -> Iterator[IO[bytes]]:
    """Open a file, unpacking .gz and .zip as it is read; which it is, its first bytes tell.

    What is unpacked is read through a buffer, as small reads are slow without.
    """
    with open(path, "rb") as plain:
        beginning = plain.read(4)
        plain.seek(0)
        if member and beginning != b"PK\3\4":
            raise EncoderError(f"{path} is not a .zip, so it has no member {member!r}")
        if beginning[:2] == b"\x1f\x8b":
            with gzip.open(plain) as unpacked:
                yield io.BufferedReader(cast(Any, unpacked))
        elif beginning == b"PK\3\4":
            with zipfile.ZipFile(plain) as archive:
                names = [info.filename for info in archive.infolist() if not info.is_dir()]
                if member not in names and (member or len(names) != 1):
                    wanted = f"has no member {member!r}" if member else f"holds {len(names)} files; choose one with member=NAME"
                    raise EncoderError(f"{path} {wanted}: {', '.join(names[:20])}")
                with archive.open(member or names[0]) as unpacked:
                    yield io.BufferedReader(cast(Any, unpacked))
        else:
            yield plain


def _is_binary(head: bytes) -> bool:
    """Text holds no byte below a blank except white space, and its lines end in numbers; float32 nearly always differ."""
    if any(byte < 32 and byte not in b"\t\n\r" for byte in head):
        return True
    return not _is_text(head[:-4]) and _n_numbers(head.split(b"\n", 2)[1].split()) < 1


def _header(line: bytes) -> tuple[int, int] | None:
    fields = line.split()
    is_header = len(fields) == 2 and all(field.isdigit() and len(field) <= _MOST_DIGITS for field in fields)
    return (int(fields[0]), int(fields[1])) if is_header else None


def _read_text(path: Path, stream: IO[bytes], header: tuple[int, int] | None) -> Iterator[Block]:
    """Read the lines after a header, if there is one."""
    count = dimension = 0
    content = _lines(path, stream, 2 if header else 1)
    while lines := list(islice(content, _LINES_A_BLOCK)):
        dimension = dimension or _measured(path, [line for _, line in lines], header)
        parsed = [_parse(f"{path}:{number}", line, dimension) for number, line in lines]
        count += len(parsed)
        yield [word for word, _ in parsed], np.stack([vector for _, vector in parsed])
    if header and count != header[0]:
        raise EncoderError(f"{path}: its first line promises {header[0]} words, it holds {count}; is the download complete?")


def _lines(path: Path, stream: IO[bytes], number: int) -> Iterator[tuple[int, bytes]]:
    """Yield lines that are not blank with their numbers; one without an end is refused before it fills the memory."""
    while line := stream.readline(_LONGEST_LINE):
        if len(line) >= _LONGEST_LINE:
            raise EncoderError(f"{path}:{number}: a line of more than {_LONGEST_LINE:,} bytes; {_EXPECTED}")
        if line.strip():
            yield number, line
        number += 1


def _measured(path: Path, lines: list[bytes], header: tuple[int, int] | None) -> int:
    """Return how many numbers a line holds by the first lines' own testimony; a header that they contradict is refused.

    Words may hold blanks, as in GloVe 840B, and may end in a number: so what most lines have counts, and a header is believed
    if a tenth of the lines agree with it.
    """
    split = [line.split() for line in lines[:_LINES_TO_MEASURE]]
    shapes = Counter(map(_n_numbers, split))
    found = shapes.most_common(1)[0][0] if shapes else 0
    if header is None:
        return found
    if found and 10 * shapes[header[1]] < len(split):
        told = f"promises {header[1]} numbers a word, but the lines after it hold {found}"
        raise EncoderError(f"{path}:1: {told}; {_EXPECTED}; mend or delete this first line")
    return header[1]


def _n_numbers(fields: list[bytes]) -> int:
    """Return how many numbers stand at the end of a line; its first field is the word, whatever it looks like."""
    return next((n for n, field in enumerate(fields[:0:-1]) if not _NUMBER.fullmatch(field)), len(fields) - 1)


def _parse(where: str, line: bytes, dimension: int) -> tuple[bytes, NDArray[np.float32]]:
    """Return a line's word and numbers, which are counted from the right, since the word may hold blanks."""
    word, *numbers = line.rsplit(None, dimension)
    if _is_text(word):
        with suppress(ValueError), np.errstate(over="ignore"):
            vector = np.array(numbers, dtype=np.float32)
            # Python takes 1_0 for a number.
            if len(vector) == dimension > 0 and np.isfinite(vector).all() and b"_" not in b"".join(numbers):
                return word.strip(), vector
    shown, fault = line.strip().decode("utf-8", "replace")[:60], "" if _is_text(word) else "not UTF-8 text; "
    expected = f"expected a word and {dimension or 'some'} finite numbers separated by blanks"
    raise EncoderError(f"{where}: {fault}{expected}, got {shown!r}")


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _read_word2vec_binary(path: Path, stream: IO[bytes], count: int, dimension: int) -> Iterator[Block]:
    if not 0 < dimension <= _MOST_DIMENSIONS:
        raise EncoderError(f"{path}:1: its first line promises vectors of {dimension} numbers; {_EXPECTED}")
    size = 4 * dimension
    for first in range(1, count + 1, _LINES_A_BLOCK):
        words: list[bytes] = []
        rows: list[bytes] = []
        for number in range(first, min(first + _LINES_A_BLOCK, count + 1)):
            letters = islice(iter(partial(stream.read, 1), b""), _MAX_WORD_BYTES)
            words.append(b"".join(takewhile(b" ".__ne__, letters)).lstrip(b"\n"))
            rows.append(stream.read(size))
            if len(rows[-1]) < size or len(words[-1]) >= _MAX_WORD_BYTES:
                raise EncoderError(f"{path}: ends, or loses its way, at word {number} of the {count} it promises")
        vectors = np.frombuffer(b"".join(rows), dtype="<f4").reshape(len(rows), dimension).astype(np.float32)
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            bad = first + int(np.argmin(finite))
            raise EncoderError(f"{path}: the vector of word {bad} is not finite; is the dimension really {dimension}?")
        yield words, vectors
    if stream.read(1 << 16).strip():
        told = f"promises {count} words of {dimension} numbers, but more bytes follow them"
        raise EncoderError(f"{path}:1: {told}; is this first line right?")


def _read_glove_binary(path: Path, options: FileOptions) -> Iterator[Block]:
    """Read what GloVe writes with -binary: for each word two rows of doubles, each a vector and a bias, and no words."""
    check_choices("vectors", layout=(options.layout, LAYOUTS), rows=(options.rows, ROWS))
    listing = options.vocabulary_of(path)
    words, counts = read_counts(listing)
    width, rest = divmod(size := path.stat().st_size, 16 * len(words))
    if rest or width < 2:
        asked = "is it GloVe's own binary, complete, and is the vocabulary its own?"
        raise EncoderError(
            f"{path}: {size} bytes are not two rows of doubles for each of {listing}'s {len(words)} words; {asked}"
        )
    table = np.memmap(path, dtype="<f8", mode="r", shape=(2 * len(words), width))
    _check_glove_layout(path, table, counts, options.layout)
    of_words, of_contexts = _glove_rows(table, options.layout)
    for begin in range(0, len(words), _LINES_A_BLOCK):
        part = slice(begin, begin + _LINES_A_BLOCK)
        chosen = of_words[part, :-1] + of_contexts[part, :-1] if options.rows == "sum" else of_words[part, :-1]
        with np.errstate(over="ignore"):  # too large for float32 becomes infinity
            vectors = chosen.astype(np.float32)
        if not np.isfinite(vectors).all():
            raise EncoderError(f"{path}: a vector among words {begin + 1} to {begin + len(vectors)} is not finite")
        yield words[part], vectors


def read_counts(path: Path) -> tuple[list[bytes], NDArray[np.float64]]:
    """Read how often words occur from lines 'word count', as GloVe's vocabulary and the lists of SIF's authors have them."""
    try:
        lines = path.read_bytes().removeprefix(_MARK).split(b"\n")
    except OSError as error:
        raise EncoderError(f"{path}: cannot be read: {error.strerror}; expected lines 'word count'") from error
    words, counts = [], []
    for number, line in enumerate(map(bytes.strip, lines), start=1):
        word, _, count = line.rpartition(b"\t" if b"\t" in line else b" ")
        if word and _NUMBER.fullmatch(count) and 0 <= float(count) < float("inf"):
            words.append(word.strip())
            counts.append(float(count))
        elif line:
            shown = line[:60].decode("utf-8", "replace")
            raise EncoderError(f"{path}:{number}: expected 'word count', got {shown!r}")
    if not sum(counts) > 0:
        raise EncoderError(f"{path}: no counts in it; expected lines 'word count'")
    return words, np.array(counts)


def _glove_rows(table: NDArray[np.float64], layout: str) -> NDArray[np.float64]:
    """Return a view of the words' rows and of their context rows, in the words' order."""
    n_words, width = len(table) // 2, table.shape[1]
    return table.reshape(2, n_words, width) if layout == "blocks" else table.reshape(n_words, 2, width).swapaxes(0, 1)


def _check_glove_layout(path: Path, table: NDArray[np.float64], counts: NDArray[np.float64], layout: str) -> None:
    """Refuse a layout that the biases contradict.

    A trained bias grows with the logarithm of its word's count (it absorbs log X_i in w.w~ + b + b~ = log X), in word and
    context rows alike, so the right pairing of rows and words has the higher rank correlation.
    """
    from scipy.stats import spearmanr

    if len(counts) < 10 or counts.min() == counts.max():
        return
    (other,) = set(LAYOUTS) - {layout}
    biases = [_glove_rows(table, which)[:, :, -1].ravel() for which in LAYOUTS]
    agreement = {which: spearmanr(found, np.tile(counts, 2)).statistic for which, found in zip(LAYOUTS, biases, strict=True)}
    if agreement[other] > agreement[layout] + 0.1:
        raise EncoderError(
            f"{path}: the rows do not look like layout={layout}: biases follow the words' counts with a rank correlation of "
            f"{agreement[layout]:.2f}, but of {agreement[other]:.2f} with layout={other}; use that"
        )
