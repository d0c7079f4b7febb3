"""Analogies at BMASS's full size: 61,250 questions with 230,000 candidates of 200 dimensions, synthetic vectors.

What is compared, all in one run and on the same random vectors:

bare products    the factored matrix products alone: for each relation the float32 products of all candidates with its 50
                 subjects and 50 objects (SPEC E.6), one BLAS call a relation with all cores, results thrown away;
ours             from vectors to accuracy, MAP and MRR in the Multi-Answer setting with each score;
naive            for one relation: all candidates times all 2,450 query vectors in batches of 500, a full argsort of each
                 question's scores, metrics read off; times the number of relations.

Answers a question: as in the paper's Table 2, so 2.0 on average. The numba kernels are compiled before the clock starts, and
how long that took is printed.

The nearer an answer lies to the bulk of the scores, the more candidates are looked at twice, so answers are made about as hard
to find as published (Table 4: accuracy and MAP .07 to .12, few easy relations among many hopeless ones); what was reached is
printed. --easy makes every relation an easy one; --random is the worst case, answers anywhere.

python benchmarks/analogies.py [--small] [--easy | --random] [--without-numba] [--no-naive]
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from medsenteval.comparison.published.numbers import read_table
from medsenteval.support.arrays import Ragged
from medsenteval.support.cores import available_cores
from medsenteval.words.analogies import ranks
from medsenteval.words.analogies.candidate_scores import Candidates
from medsenteval.words.analogies.methods import solve
from medsenteval.words.analogies.questions import Questions

#: Noise of the easiest and of the hardest relation.
PUBLISHED, EASY, RANDOM = (2.0, 20.0), (2.3, 2.3), (1000.0, 1000.0)


def ambiguities() -> list[float]:
    """Mean numbers of right answers of BMASS's 25 relations."""
    return [float(row["value"]) for row in read_table("bmass_tables") if row["metric"] == "average_ambiguity"]


def make(
    n_candidates: int, dimension: int, n_pairs: int, n_relations: int, noise: tuple[float, float]
) -> tuple[np.ndarray, Questions]:
    """Random vectors, and relations whose objects lie around their subjects plus an offset.

    Noise decides how far: the easiest relation has the first size, the hardest the second, others a constant factor apart.
    """
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((n_candidates, dimension), dtype=np.float32) / np.float32(np.sqrt(dimension))
    relations: list[int] = []
    exemplars: list[int] = []
    queries: list[int] = []
    exemplar_a: list[int] = []
    answers: list[list[int]] = []
    excluded: list[list[int]] = []
    exemplar_b: list[list[int]] = []
    free = iter(rng.permutation(n_candidates).tolist())
    # Which relation is hard must not follow from how many answers it has; Table 2 lists them by kind.
    noise_sizes = rng.permutation(np.geomspace(*noise, n_relations)).astype(np.float32)
    for relation, (ambiguity, noise_size) in enumerate(zip(ambiguities(), noise_sizes, strict=False)):
        offset = rng.standard_normal(dimension, dtype=np.float32) / np.float32(np.sqrt(dimension))
        base = len(exemplar_a)
        sizes = 1 + rng.poisson(ambiguity - 1, n_pairs)
        pairs = [(next(free), [next(free) for _ in range(size)]) for size in sizes]
        for subject, objects in pairs:
            drift = rng.standard_normal((len(objects), dimension), dtype=np.float32) / np.float32(np.sqrt(dimension))
            placed = vectors[subject] + offset + noise_size * drift
            vectors[objects] = placed / np.linalg.norm(placed, axis=1, keepdims=True)
            exemplar_a.append(subject)
            exemplar_b.append(objects[:1])
        for i, j in ((i, j) for i in range(n_pairs) for j in range(n_pairs) if i != j):
            relations.append(relation)
            exemplars.append(base + i)
            queries.append(base + j)
            answers.append(pairs[j][1])
            excluded.append([pairs[i][0], pairs[i][1][0], pairs[j][0]])
    which, given, asked, a = (np.array(each, dtype=np.intp) for each in (relations, exemplars, queries, exemplar_a))
    return vectors, Questions(which, given, asked, Ragged.of(answers), Ragged.of(excluded), a, Ragged.of(exemplar_b), a)


def bare_products(candidates: Candidates, vectors: np.ndarray, questions: Questions, n_relations: int) -> float:
    b = vectors[questions.exemplar_b.values]
    a = vectors[questions.exemplar_a]
    per_relation = len(a) // n_relations
    out = np.empty((len(candidates), 2 * per_relation), dtype=np.float32)
    unit = candidates.unit(slice(None)).astype(np.float32)
    started = time.perf_counter()
    for relation in range(n_relations):
        rows = slice(relation * per_relation, (relation + 1) * per_relation)
        np.matmul(unit, np.concatenate([a[rows], b[rows]]).T, out=out)
    return time.perf_counter() - started


def naive_relation(candidates: Candidates, vectors: np.ndarray, questions: Questions) -> tuple[float, np.ndarray]:
    """Score the first relation with a product and a sort of every question's scores; returns seconds and the metrics."""
    rows = np.flatnonzero(questions.relations == 0)
    measured = []
    unit = candidates.unit(slice(None)).astype(np.float32)
    started = time.perf_counter()
    for begin in range(0, len(rows), 500):
        batch = rows[begin : begin + 500]
        e, q = questions.exemplars[batch], questions.queries[batch]
        wanted = vectors[questions.exemplar_b.values[e]] - vectors[questions.exemplar_a[e]] + vectors[questions.query_terms[q]]
        scores = wanted @ unit.T
        ranking = np.argsort(-scores, axis=1)
        for i, row in enumerate(batch):
            right = np.flatnonzero(np.isin(ranking[i], questions.answers[row])) + 1
            guess = next(g for g in ranking[i] if g not in questions.excluded[row])
            precision = np.mean(np.arange(1, len(right) + 1) / right)
            measured.append((guess in questions.answers[row], precision, 1 / right[0]))
    return time.perf_counter() - started, np.mean(np.array(measured, dtype=float), axis=0)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="3 relations, 8,000 candidates, 50 dimensions")
    hardness = parser.add_mutually_exclusive_group()
    hardness.add_argument("--easy", action="store_true", help="answers that are mostly found")
    hardness.add_argument("--random", action="store_true", help="answers that have nothing to do with the questions")
    parser.add_argument("--without-numba", action="store_true", help="count with NumPy")
    parser.add_argument("--no-naive", action="store_true", help="leave the slow way out")
    options = parser.parse_args(arguments)
    with patch.object(ranks, "_WORTH_COMPILING", sys.maxsize if options.without_numba else 0):
        measure(options)


def measure(options: argparse.Namespace) -> None:
    """Measure what the module's docstring names and print it."""
    size = (8_000, 50, 20, 3) if options.small else (230_000, 200, 50, 25)
    vectors, questions = make(*size, RANDOM if options.random else EASY if options.easy else PUBLISHED)
    print(f"{len(questions):,} questions, {len(questions.answers.values):,} answers, {size[0]:,} candidates of {size[1]}-d, "
          f"{available_cores()} cores, counting with {'NumPy' if options.without_numba else 'numba'}")  # fmt: skip
    few = make(2_000, 8, 5, 1, EASY)
    started = time.perf_counter()
    for method in ("3cosadd", "3cosmul", "pairwise-distance"):
        solve(method, few[1], Candidates.of(few[0]), few[0])
    print(f"kernels compiled in {time.perf_counter() - started:.1f} s")
    candidates = Candidates.of(vectors)
    products: list[float] = []
    seconds: dict[str, list[float]] = {"3cosadd": [], "3cosmul": [], "pairwise-distance": []}
    bare_products(candidates, vectors, questions, size[3])
    # Interleaved, so that a busy moment of the machine hits all; the best of three is compared.
    for _ in range(3):
        products.append(bare_products(candidates, vectors, questions, size[3]))
        for method, times in seconds.items():
            started = time.perf_counter()
            _, measures, _ = solve(method, questions, Candidates.of(vectors), vectors)
            times.append(time.perf_counter() - started)
            if method == "3cosadd":
                found = measures
    bare, ours = min(products), {method: min(times) for method, times in seconds.items()}
    print(f"bare factored products  {bare:8.2f} s")
    for method, time_ in ours.items():
        beside, name = (bare, "the products") if method == "3cosadd" else (ours["3cosadd"], "3cosadd")
        compared = f"{time_ / beside:.2f} times {name}"
        print(f"{method:<22}  {time_:8.2f} s    {compared}")
    print(f"3cosadd: accuracy {found.acc.mean():.4f}, MAP {found.map.mean():.4f}, MRR {found.mrr.mean():.4f}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB (before the naive way)")
    if not options.no_naive:
        with threadpool_limits(available_cores()):
            one, metrics = naive_relation(candidates, vectors, questions)
        first = questions.relations == 0
        exact = [float(values[first].mean()) for values in (found.acc, found.map, found.mrr)]
        whole = one * size[3]
        print(f"naive, one relation     {one:8.2f} s    x {size[3]} = {whole:,.0f} s, {whole / ours['3cosadd']:.1f} times ours")
        print(f"largest difference of its metrics to ours {np.abs(metrics - exact).max():.1e}")


if __name__ == "__main__":
    main()
