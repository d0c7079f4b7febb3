"""How long a comparison of 20 encoders on the ten sentence tasks takes, and how that grows with encoders and resamples.

    python -m benchmarks.compare            published sizes, 10,000 resamples
    python -m benchmarks.compare --small    the same on small sizes, in seconds

Predictions are made up: encoders of slightly different ability that share the difficulty of the items.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from medsenteval.comparison.compare import compare_results
from medsenteval.contracts import Metric, Result
from medsenteval.report.comparison_table import TableOptions, render_comparison
from medsenteval.support.text_table import text_table
from tests.comparison.simulated import accuracy_result, correlation_result, simulated_result

#: Items scored in each of the ten tasks, as published; the last two are similarity tasks, the two before them have F1 too.
SIZES = {
    "MedNLI": 1_422, "RQE": 302, "PubMed20K": 30_135, "PICO": 31_000, "VaccineSA": 1_853, "CitationSA": 4_182,
    "BioC": 259, "BioASQ": 130, "ClinicalSTS": 318, "BIOSSES": 100,
}  # fmt: skip


def simulate(n_encoders: int, divide: int, seed: int = 1111) -> list[Result]:
    """Return the results of encoders on all tasks, sizes divided by ``divide``."""
    rng = np.random.default_rng(seed)
    results = []
    for task, size in SIZES.items():
        n = max(50, size // divide)
        gold, difficulty = rng.integers(0, 2, n), rng.normal(size=n)
        scores = rng.normal(size=n)
        for number in range(n_encoders):
            name = f"encoder {number:02d}"
            if task in ("ClinicalSTS", "BIOSSES"):
                results.append(correlation_result(task, name, scores, scores + (1 + 0.05 * number) * rng.normal(size=n)))
                continue
            right = difficulty + rng.normal(size=n) < 0.8 - 0.02 * number
            predicted = np.where(right, gold, 1 - gold)
            result = accuracy_result(task, name, gold, predicted)
            if task in ("BioC", "BioASQ"):
                f1 = 200 * float(np.sum(gold & predicted)) / float(gold.sum() + predicted.sum())
                metrics = [*result.metrics, Metric("f1", f1, f1 - 2, f1 + 2, 60.0, "percent", n)]
                labels = ("NO", "YS") if task == "BioC" else ("no", "yes")
                result = simulated_result(task, name, metrics, dict(result.items), label_names=labels)
            results.append(result)
    return results


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time comparisons of encoders.")
    parser.add_argument("--small", action="store_true", help="small sizes, a few seconds")
    options = parser.parse_args(arguments)
    plan = [(4, 500), (8, 500)] if options.small else [(2, 10_000), (5, 10_000), (20, 10_000)]
    rows = []
    for n_encoders, resamples in plan:
        results = simulate(n_encoders, 40 if options.small else 1)
        started = time.perf_counter()
        comparison = compare_results(results, resamples=resamples)
        compared = time.perf_counter()
        render_comparison(comparison, options=TableOptions(against=comparison.encoders[0]))
        rendered = time.perf_counter()
        tests = sum(len(column.tested) * (len(column.tested) - 1) // 2 for column in comparison.columns)
        rows.append([str(n_encoders), str(len(SIZES)), f"{resamples:,}", f"{tests:,}",
                     f"{compared - started:.1f} s", f"{rendered - compared:.1f} s"])  # fmt: skip
    header = ["Encoders", "Tasks", "Resamples", "Paired tests", "Compared", "Intervals and table"]
    print(text_table(header, rows, [True] * len(header)))


if __name__ == "__main__":
    main()
