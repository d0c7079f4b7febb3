"""BC5CDR: which words name chemicals, and which diseases?"""

from __future__ import annotations

from medsenteval.tasks.ner.corpus import ner_task

TASK = ner_task(
    "BC5CDR",
    ("Chemical", "Disease"),
    folder="BC5CDR-IOB",
    other_folders=("BC5CDR-IOB",),
    published_counts={"train": 4_560, "devel": 4_581, "test": 4_797},
    citation="Li et al. 2016, BioCreative V CDR task corpus: a resource for chemical disease relation extraction, Database",
    licence="CC BY 4.0 for the repository's copy",
)
