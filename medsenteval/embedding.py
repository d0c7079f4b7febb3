"""Texts into one float32 matrix: each distinct text once, short ones first, every batch checked, kept in the cache."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medsenteval.cache import BLOCK_ROWS, CacheEntry, EmbeddingCache
from medsenteval.contracts import Embeddings, Encoder
from medsenteval.errors import EncoderError

__all__ = ["TextOrder", "checked_rows", "embed_texts", "encode_block", "entry_for"]


@dataclass(frozen=True, eq=False)
class TextOrder:
    """A data set's distinct texts in the one order in which they are encoded and stored: short ones first.

    The order depends on the texts alone, not on where they stand in the data set, and so do blocks and batches.
    """

    texts: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> TextOrder:
        return cls(tuple(sorted(set(texts), key=lambda text: (len(text.split()), len(text), text))))

    @property
    def n_blocks(self) -> int:
        return -(-len(self.texts) // BLOCK_ROWS)

    def block(self, number: int) -> tuple[str, ...]:
        return self.texts[number * BLOCK_ROWS : (number + 1) * BLOCK_ROWS]


def embed_texts(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    batch_size: int,
    task_name: str,
    cache: EmbeddingCache | None = None,
    progress: bool = False,
) -> Embeddings:
    """Encode every distinct text once and return the matrix with the row of each text.

    With a cache, an encoder that has an identity encodes only what is not stored yet, and the matrix is mapped from disk.
    """
    order = TextOrder.of(texts)
    if not order.texts:
        raise EncoderError(f"{task_name}: there is no text to encode")
    row_of = {text: row for row, text in enumerate(order.texts)}
    if cache is None or not encoder.identity:
        _prepare(encoder, texts)
        return Embeddings(_encode_all(encoder, order, batch_size, task_name, progress), row_of, len(order.texts))
    entry = entry_for(cache, encoder, texts)
    missing: list[int] = []
    if entry.missing_blocks():
        with entry.locked():
            # Looked at again inside the lock: another run may have finished the entry meanwhile.
            missing = entry.missing_blocks()
            if missing:
                _prepare(encoder, texts)
                _fill(entry, missing, encoder, order, batch_size, task_name, progress)
    return Embeddings(entry.matrix(), row_of, sum(len(order.block(block)) for block in missing))


def _prepare(encoder: Encoder, texts: Sequence[str]) -> None:
    """Show an encoder that learns from them all texts, repetitions included, as SentEval does."""
    prepare = getattr(encoder, "prepare", None)
    if prepare is not None:
        prepare(list(texts))


def entry_for(cache: EmbeddingCache, encoder: Encoder, texts: Sequence[str]) -> CacheEntry:
    """Return where the cache keeps these texts by this encoder; one that learns from the texts depends on all of them."""
    identity = encoder.identity
    if getattr(encoder, "prepare", None) is not None:
        counted = repr(sorted(Counter(texts).items())).encode("utf-8", "surrogatepass")
        identity += f"|prepared on {hashlib.blake2b(counted, digest_size=16).hexdigest()}"
    return cache.entry(identity, TextOrder.of(texts).texts)


def _encode_all(encoder: Encoder, order: TextOrder, batch_size: int, task_name: str, progress: bool) -> NDArray[np.float32]:
    matrix: NDArray[np.float32] | None = None
    with _progress_bar(len(order.texts), task_name, progress) as bar:
        for block in range(order.n_blocks):
            texts = order.block(block)
            width = None if matrix is None else matrix.shape[1]
            rows = encode_block(encoder, texts, block, batch_size, task_name, width, bar.update)
            if matrix is None:
                matrix = np.empty((len(order.texts), rows.shape[1]), dtype=np.float32)
            matrix[block * BLOCK_ROWS : block * BLOCK_ROWS + len(rows)] = rows
    assert matrix is not None
    return matrix


def _fill(
    entry: CacheEntry,
    missing: list[int],
    encoder: Encoder,
    order: TextOrder,
    batch_size: int,
    task_name: str,
    progress: bool,
) -> None:
    about = entry.about
    width = None if about is None else about["dimension"]
    description = {"encoder": encoder.name, "identity": encoder.identity, "task": task_name}
    with _progress_bar(sum(len(order.block(block)) for block in missing), task_name, progress) as bar:
        for block in missing:
            rows = encode_block(encoder, order.block(block), block, batch_size, task_name, width, bar.update)
            entry.write_block(block, rows, description)
            width = rows.shape[1]


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

    An encoder that is much faster on many texts at once says so in its attribute ``preferred_batch``.
    """
    parts: list[NDArray[np.float32]] = []
    batch_size = max(batch_size, getattr(encoder, "preferred_batch", 0))
    first_batch = block * -(-BLOCK_ROWS // batch_size)
    for number, start in enumerate(range(0, len(texts), batch_size)):
        batch = list(texts[start : start + batch_size])
        rows = checked_rows(encoder.encode(batch), len(batch), width, f"{task_name}, batch {first_batch + number}")
        width = rows.shape[1]
        parts.append(rows)
        after_batch(len(batch))
    return np.concatenate(parts)


def _progress_bar(total: int, task_name: str, progress: bool) -> Any:
    from tqdm import tqdm

    # disable=None means: silent unless standard error is a terminal.
    disable = None if progress else True
    return tqdm(total=total, desc=f"{task_name}: encode", unit=" texts", leave=False, disable=disable)


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
        raise EncoderError(f"{where}: the encoder returned width {array.shape[1]}, but {width} in an earlier batch")
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
