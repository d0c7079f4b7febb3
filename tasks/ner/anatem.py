"""AnatEM: which words name parts of the body, from molecules' complexes to organ systems?"""

from __future__ import annotations

from medsenteval.tasks.ner.corpus import ner_task

TASK = ner_task(
    "AnatEM",
    ("Anatomy",),
    folder="AnatEM-IOB",
    other_folders=("AnatEM-IOB",),
    published_counts={"train": 5_861, "devel": 2_118, "test": 3_830},
    citation="Pyysalo and Ananiadou 2014, Anatomical entity mention recognition at literature scale, Bioinformatics",
    licence="CC BY 4.0 for the repository's copy",
)
