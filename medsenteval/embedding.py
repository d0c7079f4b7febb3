"""Texts into one float32 matrix: each distinct text once, sorted by length, in batches, every batch checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Embeddings, Encoder
from medsenteval.errors import EncoderError

__all__ = ["checked_rows", "embed_texts"]


def embed_texts(
    encoder: Encoder,
    texts: Iterable[str],
    *,
    batch_size: int,
    task_name: str,
    progress: bool = False,
) -> Embeddings:
    """Encode every distinct text once and return the matrix with the row of each text.

    Batches hold texts of similar length, shortest first, as SentEval does to spare padding; rows keep the order of
    first appearance, so the matrix does not depend on the batch size.
    """
    from tqdm import tqdm

    distinct = list(dict.fromkeys(texts))
    if not distinct:
        raise EncoderError(f"{task_name}: there is no text to encode")
    by_length = sorted(range(len(distinct)), key=lambda i: (len(distinct[i].split()), len(distinct[i])))
    matrix: NDArray[np.float32] | None = None
    with tqdm(
        total=len(distinct),
        desc=f"{task_name}: encode",
        unit=" texts",
        leave=False,
        # None means: silent unless standard error is a terminal.
        disable=None if progress else True,
    ) as bar:
        for number, start in enumerate(range(0, len(distinct), batch_size)):
            places = by_length[start : start + batch_size]
            batch = [distinct[i] for i in places]
            width = None if matrix is None else matrix.shape[1]
            rows = checked_rows(encoder.encode(batch), len(batch), width, f"{task_name}, batch {number}")
            if matrix is None:
                matrix = np.empty((len(distinct), rows.shape[1]), dtype=np.float32)
            matrix[places] = rows
            bar.update(len(batch))
    assert matrix is not None
    return Embeddings(matrix, {text: row for row, text in enumerate(distinct)})


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
