"""Texts into one float32 matrix: each distinct text once, short ones first, every batch checked, kept in the cache."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Embeddings, Encoder, Task
from medsenteval.embedding.cache import EmbeddingCache, VectorStore
from medsenteval.errors import EncoderError
from medsenteval.support.cores import available_cores, one_thread_per_product
from medsenteval.support.progress import Progress

_log: Final = logging.getLogger(__name__)

#: Rows are written after so many seconds of encoding, or so many bytes: what a kill costs at most, and what waits in memory.
_SECONDS_UNSTORED: Final = 2.0
_BYTES_UNSTORED: Final = 1 << 24
#: Texts that a worker encodes at a time, at least.
_TEXTS_PER_UNIT: Final = 128


@dataclass(frozen=True, eq=False)
class Encoded:
    """The rows of a few texts, with the number of tokens that each text came to, 0 where the encoder does not say."""

    rows: NDArray[np.float32]
    tokens: NDArray[np.uint32]

    @classmethod
    def joined(cls, parts: Iterable[tuple[int, Encoded]]) -> Encoded:
        """Put numbered parts together in their order."""
        found = [part for _, part in sorted(parts, key=itemgetter(0))]
        return cls(np.concatenate([part.rows for part in found]), np.concatenate([part.tokens for part in found]))


def in_order(texts: Iterable[str]) -> list[str]:
    """Return the distinct texts in the one order in which they are encoded and stored: short ones first.

    The order depends on the texts alone, not on where they stand in the data set, and so do batches.
    """
    return sorted(set(texts), key=lambda text: (len(text.split()), len(text), text))


#: Encodes (units of texts, batch size, task) on workers and yields units with their number as they are finished.
RemoteEncoding = Callable[[Sequence[Sequence[str]], int, str], Iterator[tuple[int, Encoded]]]


def embed_texts(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    batch_size: int,
    task_name: str,
    cache: EmbeddingCache | None = None,
    progress: Progress | None = None,
    remote: RemoteEncoding | None = None,
) -> Embeddings:
    """Encode every distinct text once and return the matrix with the row of each text.

    With a cache, an encoder that has an identity encodes only texts that it never encoded before. ``remote`` encodes on
    workers; an encoder that learns from the texts learns and encodes here. What an encoder with ``derive`` makes of another's
    vectors is made from those in the cache.
    """
    if hasattr(encoder, "derive"):
        of_source = partial(embed_texts, encoder.source, texts, batch_size=batch_size)  # type: ignore[attr-defined]
        found = of_source(task_name=task_name, cache=cache, progress=progress, remote=remote)
        return replace(found, matrix=encoder.derive(found.matrix))
    order = in_order(texts)
    if not order:
        raise EncoderError(f"{task_name}: there is no text to encode")
    work = _Encoding(encoder, texts, batch_size, task_name, progress or Progress(), remote)
    # Jobs side by side must not mix what one encoder learns from the texts of each.
    alone: AbstractContextManager[object] = nullcontext() if getattr(encoder, "prepare", None) is None else _learning
    row_of = {text: row for row, text in enumerate(order)}
    if cache is None or not encoder.identity:
        with alone:
            fresh = Encoded.joined(work.encoded(order, None))
        return Embeddings(fresh.rows, row_of, len(order), fresh.tokens)
    store = store_for(cache, encoder, texts)
    stored = store.find(order)
    n_encoded = 0
    if len(stored.missing):
        with alone, store.encoding(order):
            # Looked at again inside the lock: another run may have encoded some meanwhile.
            stored = store.find(order, repair=True)
            n_encoded = len(stored.missing)
            if n_encoded:
                work.into_store(store, [order[place] for place in stored.missing], stored.columns)
                stored = store.find(order)
    if len(stored.missing):
        raise EncoderError(f"{task_name}: {len(stored.missing)} texts were stored and are not in {store.folder}; run again")
    matrix, tokens = store.read(stored)
    return Embeddings(matrix, row_of, n_encoded, tokens)


@dataclass(frozen=True, eq=False)
class _Encoding:
    """The texts of one task on their way through one encoder."""

    encoder: Encoder
    texts: Sequence[str]
    batch_size: int
    task_name: str
    progress: Progress
    remote: RemoteEncoding | None

    def into_store(self, store: VectorStore, missing: list[str], width: int | None) -> None:
        """Encode texts and store them every few seconds, and what is finished when anything stops the rest."""
        about = {"encoder": self.encoder.name, "identity": self.encoder.identity}
        waiting: list[tuple[int, Encoded]] = []
        since = time.monotonic()

        def write() -> None:
            starts = sorted((start, start + len(found.rows)) for start, found in waiting)
            found = Encoded.joined(waiting)
            store.append([text for start, end in starts for text in missing[start:end]], found.rows, found.tokens, about)
            # Only now: an interrupt in the middle of writing has them written again.
            waiting.clear()

        try:
            for part in self.encoded(missing, width):
                waiting.append(part)
                size = sum(found.rows.nbytes for _, found in waiting)
                if time.monotonic() - since > _SECONDS_UNSTORED or size > _BYTES_UNSTORED:
                    write()
                    since = time.monotonic()
        finally:
            if waiting:
                write()

    def encoded(self, texts: list[str], width: int | None) -> Iterator[tuple[int, Encoded]]:
        """Yield parts of the texts as they are encoded, each with the place of its first text; all rows are of one width."""
        self.progress.expect_texts(len(texts))
        _log.debug("%s: %s encodes %d texts", self.task_name, self.encoder.name, len(texts))
        prepare: Callable[[list[str]], object] | None = getattr(self.encoder, "prepare", None)
        step = _batch_size(self.encoder, self.batch_size)
        parts: Iterator[tuple[int, Encoded]]
        if self.remote is None or prepare is not None:
            if prepare is not None:
                # All texts, repetitions included, as SentEval does.
                prepare(list(self.texts))
            parts = enumerate(encode_batches(self.encoder, texts, self.batch_size, self.task_name))
        else:
            step *= -(-_TEXTS_PER_UNIT // step)
            parts = self.remote([texts[at : at + step] for at in range(0, len(texts), step)], self.batch_size, self.task_name)
        left = set(starts := range(0, len(texts), step))
        for number, found in parts:
            left.remove(number * step)
            if len(found.rows) != len(texts[number * step : (number + 1) * step]):
                raise EncoderError(f"{self.task_name}: {len(found.rows)} rows came back for unit {number} of the texts")
            width = _same_width(found.rows.shape[1], width, self.task_name)
            self.progress.encoded(len(found.rows))
            yield number * step, found
        if left:
            raise EncoderError(f"{self.task_name}: the workers gave no rows for {len(left)} of {len(starts)} units of texts")


_learning: Final = threading.RLock()


def store_for(cache: EmbeddingCache, encoder: Encoder, texts: Sequence[str]) -> VectorStore:
    """Return where the cache keeps an encoder's vectors, or those that they are made from.

    One that learns from the texts depends on all of them.
    """
    encoder = getattr(encoder, "source", encoder) if hasattr(encoder, "derive") else encoder
    identity = encoder.identity
    if getattr(encoder, "prepare", None) is not None:
        identity += _prepared_on(texts)
    return cache.store(identity)


def _prepared_on(texts: Sequence[str]) -> str:
    """Return what an encoder's identity says of the texts that it learned from."""
    counted = repr(sorted(Counter(texts).items())).encode("utf-8", "surrogatepass")
    return f"|prepared on {hashlib.blake2b(counted, digest_size=16).hexdigest()}"


def cached_embeddings(cache: EmbeddingCache, identity: str, texts: Sequence[str]) -> Embeddings | None:
    """Return the vectors of all texts from the cache alone, or None if any is missing; no encoder is called."""
    order = in_order(texts)
    for key in (identity, identity + _prepared_on(texts)):
        store = cache.store(key)
        found = store.find(order)
        if not len(found.missing):
            matrix, tokens = store.read(found)
            return Embeddings(matrix, {text: row for row, text in enumerate(order)}, 0, tokens)
    return None


def _batch_size(encoder: Encoder, batch_size: int) -> int:
    return max(batch_size, getattr(encoder, "preferred_batch", 0))


def _keeps_threads(encoder: Encoder) -> bool:
    """Whether an encoder's products are its own affair: those of code that is not ours, unless it asks for several batches."""
    if not type(encoder).__module__.startswith("medsenteval."):
        return not getattr(encoder, "concurrent_batches", False)
    return getattr(encoder, "keeps_threads", False)


def encode_batches(encoder: Encoder, texts: Sequence[str], batch_size: int, task_name: str) -> Iterator[Encoded]:
    """Encode texts in batches, check each, and yield them in order.

    An encoder that is much faster on many texts at once says so in its attribute ``preferred_batch``. One that can encode
    several batches at the same time says so in ``concurrent_batches`` and gets a batch for each core. The products inside a
    batch then have one thread each, so that vectors are the same to the last bit on any number of cores; code that is not
    ours keeps its threads.
    """
    batch_size = _batch_size(encoder, batch_size)
    limited: Callable[[], AbstractContextManager[object]] = nullcontext if _keeps_threads(encoder) else one_thread_per_product
    count: Callable[[list[str]], Any] | None = getattr(encoder, "token_counts", None)

    def encode(number: int) -> Encoded:
        batch = list(texts[number * batch_size : (number + 1) * batch_size])
        with limited():
            rows = checked_rows(encoder.encode(batch), len(batch), None, f"{task_name}, batch {number}")
        counts = np.zeros(len(batch)) if count is None else count(batch)
        return Encoded(rows, np.asarray(counts, dtype=np.uint32))

    n_batches = -(-len(texts) // batch_size)
    threads = min(available_cores(), n_batches) if getattr(encoder, "concurrent_batches", False) else 1
    width = None
    with limited():
        for number, found in enumerate(_side_by_side(encode, n_batches, threads)):
            width = _same_width(found.rows.shape[1], width, f"{task_name}, batch {number}")
            yield found


def _side_by_side(encode: Callable[[int], Encoded], count: int, threads: int) -> Iterator[Encoded]:
    """Yield what is encoded for each number in order, on so many threads, which go on while results are taken."""
    # The first batch goes alone: what a library sets up at its first call is set up by one thread.
    yield encode(0)
    if threads == 1:
        yield from map(encode, range(1, count))
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(encode, range(1, count))


def _same_width(width: int, earlier: int | None, where: str) -> int:
    if earlier not in (None, width):
        raise EncoderError(f"{where}: the encoder returned width {width}, but {earlier} in an earlier batch")
    return width


def _plain(returned: Any) -> Any:
    """Turn tensors on any device, with any graph, type or layout, lists of them, and sparse matrices into dense arrays."""
    if isinstance(returned, (list, tuple)):
        return [_plain(row) for row in returned] if any(hasattr(row, "detach") for row in returned) else returned
    if hasattr(returned, "detach"):
        tensor = returned.detach().to_dense().cpu()
        # NumPy has no bfloat16.
        return (tensor.float() if tensor.is_floating_point() else tensor).numpy()
    return returned.toarray() if hasattr(returned, "toarray") else returned


def checked_rows(returned: Any, n_texts: int, width: int | None, where: str) -> NDArray[np.float32]:
    """Return what an encoder gave as float32 rows, or raise an EncoderError that says what is wrong with it."""
    try:
        array = np.asarray(_plain(returned))
    except (ValueError, TypeError, RuntimeError, NotImplementedError) as error:
        what = f"a {type(returned).__name__} that is no matrix of numbers (rows of different lengths, or another layout)"
        raise EncoderError(f"{where}: the encoder returned {what}: {error}") from error
    if array.dtype.kind not in "fiu" or array.ndim != 2 or array.shape[0] != n_texts or array.shape[1] == 0:
        told = f"the encoder returned an array of {array.dtype} with shape {array.shape} for {n_texts} texts"
        raise EncoderError(f"{where}: {told}; expected are numbers of shape ({n_texts}, dimension)")
    _same_width(array.shape[1], width, where)
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


def for_use(encoder: Encoder, task: str, role: str) -> Encoder:
    """Return the encoder of a text of this role in this task: itself, if it treats all texts alike."""
    choose: Callable[[str, str], Encoder] | None = getattr(encoder, "for_use", None)
    return encoder if choose is None else choose(task, role)


def texts_in_roles(task: Task, dataset: Dataset, encoder: Encoder) -> list[tuple[str, Encoder, list[str]]]:
    """Return (role, encoder to use, texts): of all texts, or of first and second ones where the encoder tells them apart."""
    first, second = (for_use(encoder, task.name, role) for role in task.roles)
    if task.roles[0] == task.roles[1] or first is second or (first.identity and first.identity == second.identity):
        return [(task.roles[0], first, list(dataset.all_texts()))]
    splits = dataset.splits.values()
    return [
        (task.roles[0], first, [text for split in splits for text in split.texts]),
        (task.roles[1], second, [text for split in splits for text in split.texts2 or ()]),
    ]
