"""The best allowed sequence of tags: Viterbi with its back-trace, all sentences at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medsenteval.words.tagging.tag_schemes import Tags, Transitions


def decode(log_probabilities: NDArray[np.float64], offsets: NDArray[np.intp], transitions: Transitions) -> Tags:
    """Return the best allowed tag sequence of every sentence; of equally good ones that with the smaller tag numbers last.

    ``log_probabilities`` has a row a token. Sentences are walked in step, longest first, so that those still unfinished at
    a step are the leading ones. The code of Chiu et al. 2018 takes the best forward score at each token and so can return
    sequences that are not allowed.
    """
    lengths = np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")
    starts, lengths = offsets[:-1][order], lengths[order]
    longest = int(lengths[0]) if len(lengths) else 0
    # How many sentences have a token at each step.
    unfinished = np.searchsorted(-lengths, -np.arange(1, longest + 2), side="right")
    penalty = np.where(transitions.following, 0.0, -np.inf)
    closing = np.where(transitions.last, 0.0, -np.inf)
    came_from: list[Tags] = []
    tags = np.zeros(len(log_probabilities), dtype=np.int16)
    current = np.zeros(len(starts), dtype=np.int16)
    score = np.where(transitions.first, 0.0, -np.inf) + log_probabilities[starts]
    for step in range(1, longest + 1):
        active = unfinished[step]
        done = slice(active, unfinished[step - 1])
        current[done] = np.argmax(score[done] + closing, axis=1)
        if active:
            paths = score[:active, :, None] + penalty
            best = paths.argmax(axis=1)
            came_from.append(best.astype(np.int16))
            score = np.take_along_axis(paths, best[:, None, :], axis=1)[:, 0] + log_probabilities[starts[:active] + step]
    for step in range(longest - 1, -1, -1):
        active = unfinished[step]
        tags[starts[:active] + step] = current[:active]
        if step:
            current[:active] = came_from[step - 1][np.arange(active), current[:active]]
    return tags
