"""How long a user's own table takes to read, and in how much memory: ``python -m benchmarks.own_data [--rows N] [--folder F]``.

Writes a made-up hospital table of 12 columns (50,000 rows as CSV, JSON lines and Parquet) and a CSV of a million rows, and
reads each in a process of its own. Seconds are of processor time, memory is the peak of that
process, imports included.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

WORDS = [
    "patient", "admitted", "with", "acute", "chronic", "pain", "fever", "cough", "oedema", "left", "right", "lower", "upper",
    "lobe", "fracture", "stable", "discharged", "home", "on", "aspirin", "heparin", "insulin", "follow", "up", "in", "clinic",
    "denies", "reports", "history", "of", "hypertension", "diabetes",
]  # fmt: skip
HEADER = (
    "row_no", "patient_id", "admission", "ward", "age", "sex", "note", "severity", "icd", "coder", "checked", "remark",
)  # fmt: skip
_READ = """
import resource, sys, time
from medsenteval import own_task
from medsenteval.datasets.locate import load_dataset
from medsenteval.settings import Settings
from pathlib import Path
begun = time.process_time()
task = own_task(sys.argv[1], label="severity")
read = time.process_time()
dataset = load_dataset(task, Path(), Settings())
checked = time.process_time()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
print(f"{read - begun:.1f} s to read, {checked - read:.1f} s to check, {peak:,.0f} MB, data={dataset.fingerprint[:12]}")
"""


def made_up_rows(n: int) -> Iterator[tuple[object, ...]]:
    """Yield rows of a hospital's table: notes of about 30 words with commas, quotes and line ends in them."""
    rng = random.Random(20)
    for number in range(n):
        note = (
            " ".join(rng.choices(WORDS, k=30))
            + (', "as before"' if number % 7 == 0 else "")
            + ("\nsigned" if number % 9 == 0 else "")
        )
        yield (
            number, f"P{rng.randrange(n // 4)}", f"2020-01-{1 + number % 28:02}", rng.choice("ABCD"), rng.randrange(18, 99),
            rng.choice("fm"), f"{note} {number}", rng.choice(("low", "medium", "high", "critical")), f"I{rng.randrange(99):02}",
            rng.randrange(9), rng.choice((True, False)), "",
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.own_data", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the large CSV; default 1,000,000")
    parser.add_argument("--folder", type=Path, default=None, help="where the files are written; default a temporary folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.folder or Path(scratch)
        for file in written(folder, arguments.rows):
            outcome = subprocess.run([sys.executable, "-c", _READ, str(file)], capture_output=True, text=True, check=False)
            print(f"{file.name} ({file.stat().st_size / 1e6:,.0f} MB): {outcome.stdout or outcome.stderr}", end="", flush=True)


def written(folder: Path, rows: int) -> Iterator[Path]:
    """Write the files one by one and yield each."""
    small, large = folder / "hospital.csv", folder / "large.csv"
    _write_csv(small, 50_000)
    yield small
    lines = folder / "hospital.jsonl"
    with lines.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(dict(zip(HEADER, row, strict=True))) + "\n" for row in made_up_rows(50_000))
    yield lines
    import pyarrow
    from pyarrow import parquet

    table = folder / "hospital.parquet"
    columns = zip(*made_up_rows(50_000), strict=True)
    parquet.write_table(pyarrow.table(dict(zip(HEADER, map(list, columns), strict=True))), table)
    yield table
    _write_csv(large, rows)
    yield large


def _write_csv(path: Path, rows: int) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(HEADER)
        writer.writerows(made_up_rows(rows))


if __name__ == "__main__":
    main()
