"""NCBI-disease: which words name diseases?"""

from __future__ import annotations

from medsenteval.tasks.ner.corpus import ner_task

TASK = ner_task(
    "NCBI-disease",
    ("Disease",),
    folder="NCBI-disease-IOB",
    other_folders=("NCBI-disease-IOB", "ncbi_disease"),
    published_counts={"train": 5_424, "devel": 923, "test": 940},
    citation="Dogan et al. 2014, NCBI disease corpus: a resource for disease name recognition and concept normalization, "
    "Journal of Biomedical Informatics",
    licence="CC BY 4.0 for the repository's copy",
)
