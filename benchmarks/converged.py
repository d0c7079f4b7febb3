"""Compare the exact probe with scikit-learn run to convergence (tol 1e-10, at most 10,000 iterations, float64).

Run:  python benchmarks/converged.py [--cases citationsa ...] [--features realistic] [--shrink 1] [--penalty 1]

One fit of each case's training rows (nine tenths of the rows where there are folds). What is printed, for the default
tolerance of the search and for the tight tolerance 1e-7:

    objective    (ours - theirs) / theirs; negative where ours is the lower one
    gap          bound on what is missing to the optimum, relative, from the duality gap of our weights
    accuracy     on the held-out rows, ours and theirs in per cent
    same         held-out rows with the same prediction, in per cent

Scikit-learn takes minutes on the largest cases: ``--shrink 8`` takes an eighth of the rows.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from synthetic import CASES, SHAPES, Workload

from medsenteval.probes.backend import Fold
from medsenteval.probes.exact.certificate import certify
from medsenteval.probes.exact.logistic import ExactBackend
from medsenteval.probes.exact.stopping_rule import default_tolerance


def compare(name: str, workload: Workload, penalty: float) -> None:
    features, labels, k = workload.features, workload.labels, workload.n_classes
    rows = np.arange(len(labels))
    n_train = workload.sizes[0] if len(workload.sizes) > 1 else len(labels) * 9 // 10
    fold = Fold(rows[:n_train], rows[n_train:])
    x, held_out = features.take(fold.train).astype(np.float64), features.take(fold.held_out).astype(np.float64)
    y, answers = labels[fold.train], labels[fold.held_out]
    started = time.perf_counter()
    model = LogisticRegression(C=penalty, tol=1e-10, max_iter=10_000).fit(x, y)
    seconds = time.perf_counter() - started
    theirs, theirs_predicted = certify(x, y, penalty, model.coef_, model.intercept_), model.predict(held_out)
    iterations, theirs_accuracy = int(model.n_iter_.max()), 100 * float((theirs_predicted == answers).mean())
    print(f"{name}: {n_train} x {features.n_columns}, {k} classes; scikit-learn {iterations} iterations, {seconds:.1f} s")
    for tolerance in (default_tolerance(len(labels)), 1e-7):
        fits = ExactBackend(tolerance).fit(features, labels, k, [fold], [[penalty]])
        ours = certify(x, y, penalty, *fits.coefficients(0, 0))
        predicted = fits.labels(0, fold.held_out)[0]
        print(
            f"  tolerance {tolerance:.0e}   objective {ours.objective / theirs.objective - 1:+.1e}"
            f"   gap {ours.gap / theirs.objective:.1e}   accuracy {100 * float((predicted == answers).mean()):.2f}"
            f" and {theirs_accuracy:.2f}   same {100 * float((predicted == theirs_predicted).mean()):.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), help="which sizes to run")
    parser.add_argument("--features", choices=SHAPES, default="realistic", help="shape of the synthetic features")
    parser.add_argument("--shrink", type=int, default=1, help="take one row of this many")
    parser.add_argument("--small", action="store_true", help="the same as --shrink 40")
    parser.add_argument("--penalty", type=float, default=1.0, help="C of the compared fits")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.cases:
        compare(name, CASES[name].make(40 if options.small else options.shrink, options.features), options.penalty)


if __name__ == "__main__":
    main()
