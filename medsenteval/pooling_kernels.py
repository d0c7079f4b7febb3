"""The compiled loop of ``pooling``: sums of table rows that give the same bits as scipy's and torch's, in one pass.

Own code, because it needs neither torch (whose embedding_bag is as fast, but takes longer to load than most tables to
pool) nor copies of rows, and is twice as fast as scipy's product with a sparse matrix.
"""

from __future__ import annotations

import numpy as np

from medsenteval.compiling import compiled_loop

__all__ = ["mean_rows"]


@compiled_loop
def _add_rows(matrix, chosen, factors, weighted, n, total):  # type: ignore[no-untyped-def]
    """Add the first n chosen rows to a total, in their order."""
    width = matrix.shape[1]
    at = 0
    if weighted:
        for at in range(n):
            row, factor = matrix[chosen[at]], factors[at]
            for column in range(width):
                total[column] += factor * row[column]
        return
    # Eight at a time: the processor fetches the rows side by side and writes the total an eighth as often.
    while at + 8 <= n:
        a, b, c, d = matrix[chosen[at]], matrix[chosen[at + 1]], matrix[chosen[at + 2]], matrix[chosen[at + 3]]
        e, f, g, h = matrix[chosen[at + 4]], matrix[chosen[at + 5]], matrix[chosen[at + 6]], matrix[chosen[at + 7]]
        for i in range(width):
            total[i] = (((((((total[i] + a[i]) + b[i]) + c[i]) + d[i]) + e[i]) + f[i]) + g[i]) + h[i]
        at += 8
    while at + 2 <= n:
        a, b = matrix[chosen[at]], matrix[chosen[at + 1]]
        for i in range(width):
            total[i] = (total[i] + a[i]) + b[i]
        at += 2
    if at < n:
        a = matrix[chosen[at]]
        for i in range(width):
            total[i] += a[i]


@compiled_loop
def mean_rows(matrix, rows, offsets, weights, begin, end, rows_a_sum, out):  # type: ignore[no-untyped-def]
    """Write the means of the rows of texts from ``begin`` to before ``end``; rows below 0 do not count.

    ``weights`` has one number a row, or none at all. Of a text with more than ``rows_a_sum`` rows partial sums are added in
    float64.
    """
    width = matrix.shape[1]
    weighted = len(weights) > 0
    chosen, factors = np.empty(rows_a_sum, dtype=np.int64), np.empty(rows_a_sum, dtype=np.float32)
    part, whole = np.empty(width, dtype=np.float32), np.empty(width, dtype=np.float64)
    for text in range(begin, end):
        n_known, n = 0, 0
        for column in range(width):
            part[column] = np.float32(0)
        for token in range(offsets[text], offsets[text + 1]):
            if rows[token] < 0:
                continue
            if n == rows_a_sum:
                _add_rows(matrix, chosen, factors, weighted, n, part)
                for column in range(width):
                    whole[column] = part[column] if n_known == 0 else whole[column] + part[column]
                    part[column] = np.float32(0)
                n_known, n = n_known + n, 0
            chosen[n] = rows[token]
            if weighted:
                factors[n] = weights[token]
            n += 1
        _add_rows(matrix, chosen, factors, weighted, n, part)
        if n_known > 0:
            for column in range(width):
                part[column] = np.float32(whole[column] + part[column])
        divisor = np.float32(max(n_known + n, 1))
        pooled = out[text]
        for column in range(width):
            pooled[column] = part[column] / divisor
