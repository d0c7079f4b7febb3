"""``python -m tests.fuzz --inputs 1000000 --record``: run a campaign, print its table, fail on the first kind of defect."""

from __future__ import annotations

import argparse
import datetime
import platform
import resource
import sys
import time
from pathlib import Path

from medsenteval.support.text_table import text_table
from tests.fuzz.campaign import LONGEST_SECONDS, MOST_MEGABYTES, Campaign, limit_memory
from tests.fuzz.model_readers import whole_models
from tests.fuzz.readers import READERS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000, help="inputs in all; default 20,000")
    parser.add_argument("--minutes", type=float, default=None, help="stop after so many minutes, whatever was done by then")
    parser.add_argument("--seed", type=int, default=None, help="default: the time")
    parser.add_argument("--only", default="", help="readers whose name contains one of these, separated by commas")
    parser.add_argument("--whole-models", action="store_true", help="load mutated models whole, too, which imports torch")
    parser.add_argument("--findings", type=Path, default=None, help="folder for inputs that showed a defect")
    parser.add_argument("--record", type=Path, default=None, help="file for the summary, such as tests/fuzz/CAMPAIGN.md")
    arguments = parser.parse_args()
    seed = int(time.time()) if arguments.seed is None else arguments.seed
    known = (*READERS, *whole_models()) if arguments.whole_models else READERS
    wanted = arguments.only.casefold().split(",")
    readers = [reader for reader in known if any(part in reader.name.casefold() for part in wanted)]
    campaign = Campaign(readers, seed, arguments.findings)
    for reader in readers:  # what is imported on first use must not count as an input's memory
        campaign._one(reader, dict(reader.files), Path("/tmp") / f"fuzz-warm-up-{seed}", campaign.tallies[reader.name])
    for tally in campaign.tallies.values():
        tally.outcomes.clear()
        tally.slowest = 0.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    limit_memory()
    begun = time.perf_counter()
    deadline = None if arguments.minutes is None else begun + 60 * arguments.minutes
    campaign.run(arguments.inputs, lambda line: print(line, file=sys.stderr, flush=True), deadline)
    seconds = time.perf_counter() - begun
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000 - before
    rows = []
    for name, tally in campaign.tallies.items():
        read = tally.outcomes["read"]
        faults = sum(count for kind, count in tally.outcomes.items() if kind.startswith("DEFECT"))
        refused = sum(tally.outcomes.values()) - read - faults
        rows.append(
            [
                name,
                f"{tally.inputs:,}",
                f"{read:,}",
                f"{refused:,}",
                f"{tally.kinds:,}",
                f"{tally.slowest:.2f}",
                f"{faults:,}",
            ]
        )
    total = sum(tally.inputs for tally in campaign.tallies.values())
    header = ["Reader", "Inputs", "Read", "Refused", "Kinds of outcome", "Slowest, s", "Defects"]
    table = text_table(header, rows, [False, *[True] * 6])
    defects = [defect for tally in campaign.tallies.values() for defect in tally.defects]
    summary = (
        f"{total:,} inputs, {len(readers)} readers, seed {seed}, {seconds:,.0f} s; memory grew by {grown:.0f} MB at most "
        f"(limit {MOST_MEGABYTES} MB), {LONGEST_SECONDS:.0f} s allowed for each input; {len(defects)} defect(s)"
    )
    print(table, "", summary, *defects, sep="\n")
    if arguments.record is not None:
        arguments.record.write_text(_record(summary, table), "utf-8")
    return 1 if defects else 0


def _record(summary: str, table: str) -> str:
    today = datetime.datetime.now(datetime.timezone.utc).date()
    return (
        "# The last long fuzzing campaign\n\n"
        f"{today}, Python {platform.python_version()}: `python -m tests.fuzz --inputs ... --record tests/fuzz/CAMPAIGN.md`\n\n"
        f"{summary}.\n\n"
        "Every input is a valid file (or set of files) changed by one to four mutations; inputs with a new outcome are\n"
        "mutated on. An input may be read (with bad rows rejected by name) or refused with one of the toolkit's own errors;\n"
        "all else is a defect.\n"
        f"\n```\n{table}\n```\n"
    )


if __name__ == "__main__":
    sys.exit(main())
