"""Concept normalisation on the Human Phenotype Ontology: all queries against a plain loop over all names.

    python -m benchmarks.concepts REALDATA -e lexical --vectors FOLDER
    python -m benchmarks.concepts REALDATA -e sentence-transformers:all-MiniLM-L6-v2 --vectors FOLDER

REALDATA has hpo/hp.obo. Vectors are kept in FOLDER, so that a second run shows what the task takes once texts are encoded. The
loop computes every cosine of every query in double precision and applies the task's rule for ties: a wrong name that scores
as high as the right one, up to 1e-9, stands before it.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np

from medsenteval import registry
from medsenteval.contracts import Embeddings
from medsenteval.datasets.locate import load_dataset
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.embedding.embed import embed_texts
from medsenteval.settings import Settings
from medsenteval.tasks.concepts.concept_evaluation import ConceptDataset

#: Queries whose scores are held at a time: 39,058 doubles each.
BLOCK = 64


def plain_ranks(dataset: ConceptDataset, vectors: Embeddings) -> list[int]:
    """Return the rank of the first right name of every query, one after the other; 0 where the dictionary has none."""
    names = vectors.matrix[[vectors.row_of[name] for name in dataset.names]].astype(np.float64)
    names /= np.maximum(np.sqrt((names**2).sum(axis=1, keepdims=True)), 1e-300)
    names_of: dict[str, set[int]] = {}
    for row, concepts in enumerate(dataset.concepts):
        for concept in concepts:
            names_of.setdefault(concept, set()).add(row)
    queries = list(dataset.queries.values())
    ranks = []
    for start in range(0, len(queries), BLOCK):
        block = queries[start : start + BLOCK]
        asked = vectors.matrix[[vectors.row_of[query.parts[0]] for query in block]].astype(np.float64)
        asked /= np.maximum(np.sqrt((asked**2).sum(axis=1, keepdims=True)), 1e-300)
        for query, scores in zip(block, asked @ names.T, strict=True):
            right: set[int] = set().union(*(names_of.get(concept, set()) for concept in query.concepts)) - {query.left_out}
            wrong = np.ones(len(scores), dtype=bool)
            wrong[[*right, query.left_out]] = False
            best = max((scores[row] for row in right), default=None)
            ranks.append(0 if best is None else 1 + int(np.count_nonzero(scores[wrong] >= best - 1e-9)))
    return ranks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("realdata", type=Path)
    parser.add_argument("-e", "--encoder", default="lexical")
    parser.add_argument("--vectors", type=Path, required=True, help="where encoded texts are kept")
    parser.add_argument("--no-loop", action="store_true", help="measure the task alone")
    given = parser.parse_args()
    started = time.perf_counter()
    task, encoder, settings = registry.task("HPO"), registry.load_encoder(given.encoder), Settings()
    dataset = load_dataset(task, given.realdata, settings)
    assert isinstance(dataset, ConceptDataset)
    read = time.perf_counter()
    cache = EmbeddingCache(given.vectors)
    vectors = embed_texts(encoder, list(dataset.all_texts()), batch_size=128, task_name="HPO", cache=cache)
    embedded = time.perf_counter()
    scores = task.evaluate(task, dataset, vectors, settings)
    done = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{encoder.name}: {len(dataset.queries):,} queries, {len(dataset.names):,} names, {vectors.matrix.shape[1]} dimensions"
    )
    print(f"read {read - started:.1f} s, vectors {embedded - read:.1f} s, task {done - embedded:.1f} s; at most {peak:.2f} GB")
    if not given.no_loop:
        ranks = np.array(plain_ranks(dataset, vectors))
        print(f"plain loop: {time.perf_counter() - done:.1f} s; ranks that differ: {sum(ranks != scores.items['rank'])}")
        for name, most in (("acc@1", 1), ("acc@5", 5)):
            value = float(100.0 * np.count_nonzero((ranks > 0) & (ranks <= most)) / len(ranks))
            print(f"{name}: task {scores.metric(name).value!r}, loop {value!r}")
            assert abs(value - scores.metric(name).value) < 1e-9


if __name__ == "__main__":
    main()
