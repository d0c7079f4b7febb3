"""Exact nearest terms among invented medical names: our search beside rapidfuzz's distances of all pairs.

python benchmarks/nearest_terms.py [--sizes 25000 50000 100000 200000 300000] [--obo FILE] [--small]

Each size is searched whole, every term being asked for its nearest terms with ties, and the best of several runs is printed.
rapidfuzz's cdist computes, on the same cores, the distances of a slice of the terms to all of them; the time for all is
extrapolated from it. Both must agree on the slice.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from medsenteval.support.cores import available_cores
from medsenteval.words.ontologies.obo import read_obo
from medsenteval.words.terms.nearest_term_index import NearestTermIndex, NearTerms

sys.path.insert(0, str(Path(__file__).parent))

from morphemes import invented_names

SIZES = (25_000, 50_000, 100_000, 200_000, 300_000)


def all_pairs(texts: list[str], slice_size: int) -> tuple[float, list[tuple[int, list[int]]]]:
    """Return the seconds that cdist would need for all pairs, and the nearest terms of the slice with their distance."""
    rows = np.random.default_rng(0).choice(len(texts), size=min(slice_size, len(texts)), replace=False)
    started = time.perf_counter()
    distances = cdist(
        [texts[row] for row in rows], texts, scorer=Levenshtein.distance, dtype=np.uint16, workers=available_cores()
    )
    seconds = (time.perf_counter() - started) * len(texts) / len(rows)
    distances[np.arange(len(rows)), rows] = np.iinfo(np.uint16).max
    nearest = distances.min(axis=1)
    return seconds, [
        (int(row), np.flatnonzero(found == low).tolist()) for row, found, low in zip(rows, distances, nearest, strict=True)
    ]


@dataclass(frozen=True)
class Search:
    """What one run over all terms took."""

    index: float
    search: float
    cpu: float

    @property
    def seconds(self) -> float:
        return self.index + self.search


def search_all(texts: list[str]) -> tuple[Search, list[NearTerms]]:
    started, cpu_started = time.perf_counter(), time.process_time()
    index = NearestTermIndex(texts)
    first = index.search([0], [1])
    indexed = time.perf_counter()
    found = index.search(range(len(texts)), [1] * len(texts))
    searched, cpu = time.perf_counter(), time.process_time() - cpu_started
    assert first[0].terms.tolist() == found[0].terms.tolist()
    return Search(indexed - started, searched - indexed, cpu), found


def real_names(path: Path) -> list[str]:
    """Return the names and synonyms of an ontology, each once, in an order drawn at random: a shorter list is a sample."""
    terms = read_obo(path).terms.values()
    names = {term.name for term in terms} | {synonym.text for term in terms for synonym in term.synonyms}
    listed = sorted({name.lower() for name in names if name})
    return [listed[i] for i in np.random.default_rng(0).permutation(len(listed))]


def quantiles(values: Sequence[int]) -> str:
    return " ".join(f"{value:.0f}" for value in np.percentile(values, (1, 10, 25, 50, 75, 90, 99)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--slice", type=int, default=500, dest="slice_size")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the best counts")
    parser.add_argument("--obo", type=Path, help="the names of a real ontology instead")
    parser.add_argument("--small", action="store_true", help="tiny sizes, to see that it runs")
    options = parser.parse_args()
    sizes = [500, 1_000] if options.small else options.sizes
    if options.obo is None:
        names = list(dict.fromkeys(name.lower() for name in invented_names(max(sizes))))
    else:
        names = real_names(options.obo)
        sizes = [size for size in sizes if size < len(names)] + [len(names)]
    # Compiling, or loading what was compiled, is no part of the search.
    NearestTermIndex(names[:50]).search(range(50), [1] * 50)
    print(f"{available_cores()} cores; slices of {options.slice_size} terms for all pairs")
    print("    terms     index     search  growth  of CPU seconds   all pairs   faster  peak GB")
    best: dict[int, Search] = {}
    compared: dict[int, tuple[float, float]] = {}
    # Size after size, and that several times: the machine's own speed drifts.
    for turn in range(options.repeats):
        for size in sizes:
            texts = names[:size]
            run, found = search_all(texts)
            best[size] = min(run, best.get(size, run), key=lambda run: run.seconds)
            distances = [int(near.distances[0]) for near in found]
            if turn == 0:
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
                whole, expected = all_pairs(texts, options.slice_size)
                for row, nearest in expected:
                    assert found[row].terms.tolist() == nearest, texts[row]
                compared[size] = (whole, peak)
    before = None
    for size in sizes:
        run, (whole, peak) = best[size], compared[size]
        growth = cpu_growth = ""
        if before is not None:
            # Growth for a doubling, whatever the step was; of CPU seconds too, which other work disturbs less.
            doublings = np.log2(size / before)
            growth, cpu_growth = (
                f"{ratio ** (1 / doublings):.2f}" for ratio in (run.seconds / best[before].seconds, run.cpu / best[before].cpu)
            )
        print(
            f"{size:>9,}  {run.index:>6.1f} s  {run.search:>7.1f} s  {growth:>6}  {cpu_growth:>14}  "
            f"{whole:>8.0f} s  {whole / run.seconds:>6.1f}x  {peak:>7.2f}",
            flush=True,
        )
        before = size
    print("quantiles 1 10 25 50 75 90 99 %, largest size:")
    print(f"  length of a name      {quantiles([len(text) for text in texts])}")
    print(f"  distance to nearest   {quantiles(distances)}")


if __name__ == "__main__":
    main()
