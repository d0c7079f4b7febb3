"""Plug in a batcher: SentEval's contract, whole. Here a sentence is the counts of its letters.

    python examples/batcher.py [DATA]

DATA is a data folder; without it the bundled synthetic sample is used.
"""

import sys

import numpy as np

import medsenteval
from medsenteval.datasets.locate import sample_root

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def prepare(params, samples):
    """Called once for each task with all its sentences, as lists of tokens; what it learns goes onto params."""
    params.longest = max(len(tokens) for tokens in samples)


def batcher(params, batch):
    """Called with a list of sentences; returns one row for each."""
    rows = []
    for tokens in batch:
        text = " ".join(tokens or ["."]).lower()  # a sentence may be empty
        rows.append([text.count(letter) for letter in LETTERS] + [len(tokens) / params.longest])
    return np.array(rows, dtype=np.float32)


if __name__ == "__main__":
    params = {"task_path": sys.argv[1] if len(sys.argv) > 1 else str(sample_root()), "usepytorch": False, "kfold": 10}
    se = medsenteval.engine.SE(params, batcher, prepare)
    results = se.eval(["RQE", "BIOSSES"])
    print("RQE, as SentEval returns it:", results["RQE"])
    score = se.details["RQE"].metric("acc")
    print(f"The same with its interval: {score.value:.2f} [{score.low:.2f}, {score.high:.2f}]")
    print(f"A constant answer scores {score.baseline:.2f}")
