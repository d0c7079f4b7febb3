"""BC2GM: which words name genes and gene products?"""

from __future__ import annotations

from medsenteval.tasks.ner.corpus import ner_task

TASK = ner_task(
    "BC2GM",
    ("GENE",),
    folder="BC2GM-IOB",
    other_folders=("BC2GM-IOB",),
    published_counts={"train": 12_574, "devel": 2_519, "test": 5_038},
    citation="Smith et al. 2008, Overview of BioCreative II gene mention recognition, Genome Biology",
    licence="CC BY 4.0 for the repository's copy",
)
