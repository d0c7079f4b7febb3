"""Compare two encoders: run both, store the results, test every difference.

    python examples/compare_two.py [OUTPUT] [DATA]

The same on the command line:

    medsenteval run -t RQE,BioASQ,ClinicalSTS,BIOSSES -e lexical -e lexical,dimension=64,name=small -o OUTPUT
    medsenteval compare OUTPUT
"""

import sys
import tempfile
from pathlib import Path

import medsenteval
from medsenteval.compare import compare_results
from medsenteval.report.comparison import render_comparison
from medsenteval.store import load_results

if __name__ == "__main__":
    output = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    data = sys.argv[2] if len(sys.argv) > 2 else None
    for encoder in ("lexical", "lexical,dimension=64,name=small"):
        medsenteval.evaluate(encoder, tasks="RQE,BioASQ,ClinicalSTS,BIOSSES", data=data, output=output)
    comparison = compare_results(load_results([output], Path(output)))
    print(render_comparison(comparison, "text"))
    for column in comparison.columns:
        if difference := column.difference("lexical", "small"):
            verdict = "real" if difference.corrected < 0.05 else "could be chance"
            interval = f"{difference.interval.estimate:+.3f} [{difference.interval.low:+.3f}, {difference.interval.high:+.3f}]"
            print(f"{column.task} {column.metric}: lexical - small = {interval}, {verdict}")
