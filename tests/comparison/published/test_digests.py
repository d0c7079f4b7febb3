"""Every published number with all that is said of it, as digests.txt knows it; run this module to write the file anew.

A line has a table, how many numbers it has, their sum, and a hash of all their fields. A change is meant, or an error.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Final

from medsenteval.comparison.published.numbers import published_numbers, select_numbers

FILE: Final = Path(__file__).parent / "digests.txt"


def digests() -> str:
    lines = []
    for table in dict.fromkeys(number.table for number in published_numbers()):
        numbers = [number for number in select_numbers(table=table) if number.table == table]
        content = json.dumps([asdict(number) for number in numbers], sort_keys=True)
        digest = hashlib.sha256(content.encode()).hexdigest()[:16]
        lines.append(f"{table} {len(numbers)} {sum(number.value for number in numbers):.4f} {digest}\n")
    return "".join(lines)


def test_no_published_number_changes_unseen() -> None:
    assert digests().splitlines() == FILE.read_text("utf-8").splitlines()


if __name__ == "__main__":
    FILE.write_text(digests(), "utf-8")
