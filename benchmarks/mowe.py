"""Mean of word embeddings: SentEval's bag-of-words loop against ``vectors:``, in one process on the same sentences.

The loop is written from its description: each sentence is split, each word is looked up in a dict of arrays, and the known
words' arrays go through ``np.mean``. It is timed on a part of the sentences and scaled, since its cost a sentence is the same
throughout. Words follow Zipf's law, as in text, unless --uniform is given, which is the worst case for every cache.

    python benchmarks/mowe.py            # 200,000 sentences of 26 words, 300 dimensions, 400,000 words: some minutes
    python benchmarks/mowe.py --quick    # a tenth of everything
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_WORDS, DIMENSION, N_SENTENCES, N_TOKENS = 400_000, 300, 200_000, 26


def make_words(n_words: int, rng: np.random.Generator) -> list[str]:
    """Draw distinct words of 1 to 14 letters, the frequent ones shorter, as in text."""
    letters = np.array(list("etaoinshrdlucmfwypvbgkqjxz"))
    words: dict[str, None] = {}
    while len(words) < n_words:
        length = min(14, 1 + int(rng.poisson(2 + 0.5 * np.log1p(len(words)))))
        words["".join(rng.choice(letters[:26], length))] = None
    return list(words)


def write_table(path: Path, words: list[str], rng: np.random.Generator) -> None:
    with open(path, "w", encoding="utf-8") as out:
        for begin in range(0, len(words), 10_000):
            rows = rng.integers(-99999, 99999, (len(words[begin : begin + 10_000]), DIMENSION))
            for word, row in zip(words[begin:], rows.tolist(), strict=False):
                out.write(word + " " + " ".join([f"{n}e-5" for n in row]) + "\n")


def senteval_batch(sentences: list[str], vector_of: dict[str, NDArray[np.float32]]) -> NDArray[Any]:
    embeddings = []
    for sentence in sentences:
        vectors = []
        for word in sentence.split():
            if word in vector_of:
                vectors.append(vector_of[word])  # noqa: PERF401
        if not vectors:
            vectors.append(np.zeros(DIMENSION, dtype=np.float32))
        embeddings.append(np.mean(vectors, 0))
    return np.vstack(embeddings)


def scan_text(path: Path, wanted: set[str]) -> dict[str, NDArray[np.float32]]:
    """Read the vectors of some words from a text file, as SentEval's example does."""
    found = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            word, numbers = line.split(" ", 1)
            if word in wanted:
                found[word] = np.array(numbers.split(), dtype=np.float32)
    return found


def timed(function: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Return the best time of several runs, and the last result."""
    best, result = float("inf"), None
    for _ in range(repeats):
        result = None
        started = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - started)
    return best, result


def anonymous_megabytes() -> float:
    """Memory that is not a file's: mapped pages of the table can be dropped at any time and do not count."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--uniform", action="store_true")
    parser.add_argument("--folder", help="where the table and its converted copy are kept (default: a temporary folder)")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["MEDSENTEVAL_CACHE"] = str(folder / "cache")
        run(folder, N_WORDS // scale, N_SENTENCES // scale, options)


def run(folder: Path, n_words: int, n_sentences: int, options: argparse.Namespace) -> None:
    from medsenteval.embedding.pooling import pool_rows
    from medsenteval.encoders.static.vectors import load

    rng = np.random.default_rng(1)
    words = make_words(n_words, rng)
    table = folder / f"table-{n_words}.txt"
    if not table.is_file():
        write_table(table, words, rng)
    chance = np.ones(n_words) if options.uniform else 1.0 / np.arange(1, n_words + 1)
    drawn = np.searchsorted(np.cumsum(chance / chance.sum()), rng.random((n_sentences, N_TOKENS)))
    named = np.array([*words, words[-1]], dtype=object)
    sentences = [" ".join(row) for row in named[drawn]]
    n_tokens = n_sentences * N_TOKENS
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")

    converting, _ = timed(lambda: load(str(table)))
    opening, encoder = timed(lambda: load(str(table)), 5)
    scanning, _ = timed(lambda: scan_text(table, set(words[:20_000])))
    print(f"convert {converting:.1f} s; open {1e3 * opening:.1f} ms; scan the text for 20,000 words {scanning:.1f} s")
    report("open against scan", scanning, opening)

    before = anonymous_megabytes()
    load(str(table)).encode(sentences[:1000])
    grown, size = anonymous_megabytes() - before, n_words * DIMENSION * 4 / 2**20
    print(f"memory for opening and 1,000 sentences: {grown:.0f} MB; the table has {size:.0f} MB")

    matrix = np.asarray(encoder._matrix)
    vector_of = dict(zip(words, map(np.array, matrix), strict=True))
    rows = np.ascontiguousarray(drawn.ravel().clip(max=n_words - 1), dtype=np.int32)
    offsets = np.arange(0, n_tokens + 1, N_TOKENS)
    step = max(1, n_sentences // 20_000)
    part = sentences[::step]

    def loop() -> NDArray[Any]:
        return np.vstack([senteval_batch(part[i : i + 128], vector_of) for i in range(0, len(part), 128)])

    def encode(tokenizer: str) -> NDArray[np.float32]:
        return load(str(table), tokenizer=tokenizer).encode(sentences)

    times: dict[str, list[float]] = {}
    for _ in range(options.repeats):
        # In turns, so that other work on the machine disturbs both sides alike.
        seconds, expected = timed(loop)
        times.setdefault("loop", []).append(seconds * n_sentences / len(part))
        for tokenizer in ("words", "whitespace"):
            seconds, got = timed(partial(encode, tokenizer))
            times.setdefault(tokenizer, []).append(seconds)
        assert np.abs(got[::step] - expected).max() < 1e-5
        del got
        times.setdefault("pooling", []).append(timed(lambda: pool_rows(matrix, rows, offsets, "mean"))[0])
    best = {name: min(seconds) for name, seconds in times.items()}
    print(f"SentEval's loop: {n_tokens / best['loop'] / 1e6:.2f} million tokens/s")
    report("pooling from rows of words", best["loop"], best["pooling"])
    report("raw text, tokenizer=whitespace", best["loop"], best["whitespace"])
    report("raw text, tokenizer=words", best["loop"], best["words"])


def report(name: str, slow: float, fast: float) -> None:
    print(f"{name:32} {slow:8.2f} s  {fast:8.3f} s  {slow / fast:7.1f} x")


if __name__ == "__main__":
    main()
