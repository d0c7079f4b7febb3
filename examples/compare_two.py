"""Compare two encoders: run both, store the results, test every difference.

    python examples/compare_two.py [OUTPUT] [DATA]

The same on the command line:

    medsenteval run -t RQE,BioASQ,ClinicalSTS,BIOSSES -e lexical -e lexical,dimension=64,name=small -o OUTPUT
    medsenteval compare OUTPUT
"""

import sys
import tempfile

import medsenteval

if __name__ == "__main__":
    output = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    data = sys.argv[2] if len(sys.argv) > 2 else None
    encoders = ["lexical", "lexical,dimension=64,name=small"]
    results = medsenteval.evaluate(encoders, tasks="RQE,BioASQ,ClinicalSTS,BIOSSES", data=data, output=output)
    compared = medsenteval.compare(results)
    print(compared)
    for column in compared.comparison.columns:
        if difference := column.difference("lexical", "small"):
            verdict = "real" if difference.corrected < 0.05 else "could be chance"
            interval = f"{difference.interval.estimate:+.3f} [{difference.interval.low:+.3f}, {difference.interval.high:+.3f}]"
            print(f"{column.task} {column.metric}: lexical - small = {interval}, {verdict}")
        else:
            print(f"{column.task} {column.metric}: not tested: {column.untested}")
