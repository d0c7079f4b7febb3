"""Stored results, value by value, as the files in fixtures/ hold them; run this module to write them anew.

One task of each family on some rows of the sample. What the numbers ought to be is proven elsewhere; here none of them, nor of
the items and details that comparisons and pages read, changes unseen.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any, Final

import pytest

import medsenteval

FOLDER: Final = Path(__file__).parent / "fixtures"
#: What depends on the machine, the moment or the versions of libraries.
PASSING: Final = ("timings", "versions", "made", "performance", "signature", "encoder_identity")
#: How near to its optimum a fit stopped, which the last bits of a processor's products decide.
NEARNESS: Final = ".details.fits.worst_gradient"
#: Probabilities, which are known as far as a fit comes before it stops.
FITTED: Final = ".items.probability["
TASKS: Final[dict[str, dict[str, Any]]] = {
    "BIOSSES": {},
    "MayoSRS": {},
    "BioASQ": {"folds": 3},
    "VaccineSA": {"folds": 3},
    "SST5": {},
    "SST5-shots": {"shots": 2, "draws": 3},
    "STS12": {},
    "STSBenchmark": {},
    "HPO": {},
    "BMASS": {},
    "NegationFlip": {},
    "BioTense": {},
}


def stored(name: str) -> dict[str, Any]:
    """Return what a run would store, as JSON has it."""
    task = name.partition("-")[0]
    results = medsenteval.evaluate("lexical,dimension=16", task, limit=24, resamples=100, cache=False, **TASKS[name])
    content = json.loads(json.dumps(results[task].to_json()))
    return {key: value for key, value in content.items() if key not in PASSING}


def differences(found: Any, expected: Any, place: str = "") -> list[str]:
    """Return where two values of JSON differ, numbers by more than rounding."""
    if isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys():
        return [each for key in expected for each in differences(found[key], expected[key], f"{place}.{key}")]
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        pairs = enumerate(zip(found, expected, strict=True))
        return [each for i, (one, other) in pairs for each in differences(one, other, f"{place}[{i}]")]
    if isinstance(found, float) and isinstance(expected, float):
        known_to = 1e-4 if place.startswith(FITTED) else 1e-7
        near = found < 1e-4 if place == NEARNESS else math.isclose(found, expected, rel_tol=1e-5, abs_tol=known_to)
        return [] if near else [f"{place}: {found!r}, not {expected!r}"]
    return [] if found == expected else [f"{place}: {found!r}, not {expected!r}"]


@pytest.mark.parametrize("name", TASKS)
def test_a_result_holds_what_its_file_shows(name: str) -> None:
    assert differences(stored(name), json.loads((FOLDER / f"{name}.json").read_text("utf-8"))) == []


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for chosen in sys.argv[1:] or TASKS:
        text = json.dumps(stored(chosen), ensure_ascii=False, indent=1)
        (FOLDER / f"{chosen}.json").write_text(text + "\n", "utf-8")
