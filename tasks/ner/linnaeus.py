"""Linnaeus: which words name species?"""

from __future__ import annotations

from medsenteval.tasks.ner.corpus import ner_task

TASK = ner_task(
    "Linnaeus",
    ("Species",),
    folder="linnaeus-IOB",
    other_folders=("linnaeus-IOB",),
    published_counts={"train": 11_935, "devel": 4_078, "test": 7_142},
    citation="Gerner, Nenadic and Bergman 2010, LINNAEUS: a species name identification system for biomedical literature, "
    "BMC Bioinformatics",
    licence="CC BY 4.0 for the repository's copy",
)
