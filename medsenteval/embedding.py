"""Texts into one float32 matrix: each distinct text once, short ones first, every batch checked, kept in the cache."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from medsenteval.cache import BLOCK_ROWS, CacheEntry, EmbeddingCache
from medsenteval.contracts import Embeddings, Encoder
from medsenteval.cores import available_cores, one_thread_per_product
from medsenteval.errors import EncoderError
from medsenteval.progress import Progress

__all__ = ["EncodesElsewhere", "TextOrder", "checked_rows", "embed_texts", "encode_block", "entry_for"]


@dataclass(frozen=True, eq=False)
class TextOrder:
    """A data set's distinct texts in the one order in which they are encoded and stored: short ones first.

    The order depends on the texts alone, not on where they stand in the data set, and so do blocks and batches.
    """

    texts: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> TextOrder:
        distinct = sorted(set(texts))
        words = np.fromiter((len(text.split()) for text in distinct), dtype=np.int64, count=len(distinct))
        lengths = np.fromiter(map(len, distinct), dtype=np.int64, count=len(distinct))
        # The sort is stable, so texts of equal length stay in their own order. A key for each text would weigh more than it.
        return cls(tuple(distinct[place] for place in np.lexsort((lengths, words))))

    @property
    def n_blocks(self) -> int:
        return -(-len(self.texts) // BLOCK_ROWS)

    def block(self, number: int) -> tuple[str, ...]:
        return self.texts[number * BLOCK_ROWS : (number + 1) * BLOCK_ROWS]


class EncodesElsewhere(Protocol):
    """Encodes blocks of texts on workers and yields them as they are finished."""

    def encode(
        self, order: TextOrder, blocks: Sequence[int], batch_size: int, task_name: str, width: int | None
    ) -> Iterator[tuple[int, NDArray[np.float32]]]: ...


def embed_texts(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    batch_size: int,
    task_name: str,
    cache: EmbeddingCache | None = None,
    progress: Progress | None = None,
    elsewhere: EncodesElsewhere | None = None,
) -> Embeddings:
    """Encode every distinct text once and return the matrix with the row of each text.

    With a cache, an encoder that has an identity encodes only what is not stored yet, and the matrix is mapped from disk.
    ``elsewhere`` encodes on workers; an encoder that learns from the texts learns and encodes here.
    """
    order = TextOrder.of(texts)
    if not order.texts:
        raise EncoderError(f"{task_name}: there is no text to encode")
    work = _Encoding(encoder, texts, order, batch_size, task_name, progress or Progress(), elsewhere)
    row_of = {text: row for row, text in enumerate(order.texts)}
    if cache is None or not encoder.identity:
        with work.alone():
            return Embeddings(work.into_memory(), row_of, len(order.texts))
    entry = entry_for(cache, encoder, texts, order)
    missing = entry.missing_blocks()
    if missing:
        with work.alone(), entry.locked():
            # Looked at again inside the lock: another run may have finished the entry meanwhile.
            missing = entry.missing_blocks()
            work.into_cache(entry, missing)
    return Embeddings(entry.matrix(), row_of, sum(len(order.block(block)) for block in missing))


@dataclass(frozen=True, eq=False)
class _Encoding:
    """The texts of one task on their way through one encoder."""

    encoder: Encoder
    texts: Sequence[str]
    order: TextOrder
    batch_size: int
    task_name: str
    progress: Progress
    elsewhere: EncodesElsewhere | None

    def into_memory(self) -> NDArray[np.float32]:
        matrix: NDArray[np.float32] | None = None
        for block, rows in self._encoded(range(self.order.n_blocks), None):
            if matrix is None:
                matrix = np.empty((len(self.order.texts), rows.shape[1]), dtype=np.float32)
            matrix[block * BLOCK_ROWS : block * BLOCK_ROWS + len(rows)] = rows
        assert matrix is not None
        return matrix

    def into_cache(self, entry: CacheEntry, missing: Sequence[int]) -> None:
        about = entry.about
        description = {"encoder": self.encoder.name, "identity": self.encoder.identity, "task": self.task_name}
        for block, rows in self._encoded(missing, None if about is None else about["dimension"]):
            entry.write_block(block, rows, description)

    def _encoded(self, blocks: Sequence[int], width: int | None) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield the blocks with their rows, all of one width."""
        if not blocks:
            return
        self.progress.expect_texts(sum(len(self.order.block(block)) for block in blocks))
        if self.elsewhere is None or _prepare_of(self.encoder) is not None:
            yield from self._encoded_here(blocks, width)
            return
        for block, rows in self.elsewhere.encode(self.order, blocks, self.batch_size, self.task_name, width):
            if width is not None and rows.shape[1] != width:
                raise EncoderError(_other_width(self.task_name, rows.shape[1], width))
            width = rows.shape[1]
            self.progress.encoded(len(rows))
            yield block, rows

    def _encoded_here(self, blocks: Sequence[int], width: int | None) -> Iterator[tuple[int, NDArray[np.float32]]]:
        prepare = _prepare_of(self.encoder)
        if prepare is not None:
            # All texts, repetitions included, as SentEval does.
            prepare(list(self.texts))
        for block in blocks:
            texts, after = self.order.block(block), self.progress.encoded
            rows = encode_block(self.encoder, texts, block, self.batch_size, self.task_name, width, after)
            width = rows.shape[1]
            yield block, rows

    def alone(self) -> AbstractContextManager[object]:
        """Keep jobs side by side from mixing what one encoder learns from the texts of each."""
        return nullcontext() if _prepare_of(self.encoder) is None else _learning


_learning: Final = threading.RLock()


def _prepare_of(encoder: Encoder) -> Callable[[list[str]], object] | None:
    """Return the method by which an encoder learns from a task's texts, if it has one."""
    prepare: Callable[[list[str]], object] | None = getattr(encoder, "prepare", None)
    return prepare


def entry_for(cache: EmbeddingCache, encoder: Encoder, texts: Sequence[str], order: TextOrder) -> CacheEntry:
    """Return where the cache keeps these texts by this encoder; one that learns from the texts depends on all of them."""
    identity = encoder.identity
    if _prepare_of(encoder) is not None:
        counted = repr(sorted(Counter(texts).items())).encode("utf-8", "surrogatepass")
        identity += f"|prepared on {hashlib.blake2b(counted, digest_size=16).hexdigest()}"
    return cache.entry(identity, order.texts)


def encode_block(
    encoder: Encoder,
    texts: Sequence[str],
    block: int,
    batch_size: int,
    task_name: str,
    width: int | None = None,
    after_batch: Callable[[int], object] = lambda n_texts: None,
) -> NDArray[np.float32]:
    """Encode one block of texts in batches and check each; batches never reach over the end of a block.

    An encoder that is much faster on many texts at once says so in its attribute ``preferred_batch``. One that can encode
    several batches at the same time says so in ``concurrent_batches`` and gets a batch for each core; the products inside a
    batch have one thread each, so that vectors are the same on any number of cores and for any size of batch.
    """
    batch_size = max(batch_size, getattr(encoder, "preferred_batch", 0))
    first_batch = block * -(-BLOCK_ROWS // batch_size)

    def encode(number: int) -> NDArray[np.float32]:
        batch = list(texts[number * batch_size : (number + 1) * batch_size])
        where = f"{task_name}, batch {first_batch + number}"
        with one_thread_per_product():
            rows = checked_rows(encoder.encode(batch), len(batch), width, where)
        after_batch(len(batch))
        return rows

    n_batches = -(-len(texts) // batch_size)
    threads = min(available_cores(), n_batches) if getattr(encoder, "concurrent_batches", False) else 1
    with one_thread_per_product():
        # The first batch goes alone: what a library sets up at its first call is set up by one thread.
        parts = [encode(0)]
        if threads == 1:
            parts += map(encode, range(1, n_batches))
        else:
            with ThreadPoolExecutor(threads) as pool:
                parts += pool.map(encode, range(1, n_batches))
    for number, part in enumerate(parts):
        if part.shape[1] != parts[0].shape[1]:
            where = f"{task_name}, batch {first_batch + number}"
            raise EncoderError(_other_width(where, part.shape[1], parts[0].shape[1]))
    return np.concatenate(parts)


def _other_width(where: str, width: int, earlier: int) -> str:
    return f"{where}: the encoder returned width {width}, but {earlier} in an earlier batch"


def checked_rows(returned: Any, n_texts: int, width: int | None, where: str) -> NDArray[np.float32]:
    """Return what an encoder gave as float32 rows, or raise an EncoderError that says what is wrong with it."""
    if hasattr(returned, "detach"):  # a torch tensor, on whatever device and with whatever graph
        returned = returned.detach().cpu().numpy()
    try:
        array = np.asarray(returned)
    except ValueError as error:
        raise EncoderError(f"{where}: the encoder returned rows of different lengths: {error}") from error
    if array.dtype.kind not in "fiu":
        raise EncoderError(
            f"{where}: the encoder returned an array of {array.dtype} with shape {array.shape} "
            f"where numbers of shape ({n_texts}, dimension) are expected"
        )
    if array.ndim != 2 or array.shape[0] != n_texts or array.shape[1] == 0:
        raise EncoderError(
            f"{where}: the encoder returned shape {array.shape} for {n_texts} texts; expected ({n_texts}, dimension)"
        )
    if width is not None and array.shape[1] != width:
        raise EncoderError(_other_width(where, array.shape[1], width))
    with np.errstate(over="ignore"):
        rows = array.astype(np.float32, copy=False)
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        raise EncoderError(
            f"{where}: the encoder returned NaN or infinity in {len(bad)} of {n_texts} rows (shape {array.shape}), "
            f"first in row {bad[0]}"
        )
    return rows
