"""JNLPBA: which words name DNA, RNA, proteins, cell types and cell lines?"""

from __future__ import annotations

from medsenteval.tasks.ner.corpus import ner_task

TASK = ner_task(
    "JNLPBA",
    ("DNA", "RNA", "protein", "cell_type", "cell_line"),
    folder="JNLPBA",
    other_folders=("JNLPBA-IOB",),
    published_counts={"devel": 1_739, "test": 3_856},
    citation="Kim et al. 2004, Introduction to the bio-entity recognition task at JNLPBA",
    licence="GENIA project licence",
    further="; copies of the repository without its largest files lack train.tsv: fetch that one as well",
)
