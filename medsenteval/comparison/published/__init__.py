"""The literature's numbers as CSV files, and how to read them."""

from __future__ import annotations

import csv
from importlib.resources import files

from medsenteval.errors import UnknownNameError

#: File -> what it holds.
TABLES = {
    "medsenteval_table3": "Tawfik and Spruit 2020, Table 3: 18 encoders on the ten sentence tasks",
    "medsenteval_table4": "Tawfik and Spruit 2020, Table 4: what six encoders made of three examples",
    "senteval_general": "general-domain SentEval numbers, each with its source and protocol",
    "biosim_tables": "Chiu et al. 2018 (Bio-SimVerb, Bio-SimLex), Tables 5 to 11",
    "bmass_tables": "Newman-Griffis et al. 2017 (BMASS), Tables 2 to 5",
    "medisim_tables": "Schulz and Juric 2020 (medical term similarity), both versions",
}


def read_table(name: str) -> list[dict[str, str]]:
    """Return the rows of a published table as printed, one dictionary a number."""
    if name not in TABLES:
        raise UnknownNameError(f"no published table is called {name!r}; known: {', '.join(TABLES)}")
    with files(__name__).joinpath(f"{name}.csv").open("r", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))
