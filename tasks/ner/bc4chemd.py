"""BC4CHEMD: which words name chemicals and drugs?"""

from __future__ import annotations

from medsenteval.tasks.ner.corpus import ner_task

TASK = ner_task(
    "BC4CHEMD",
    ("Chemical",),
    folder="BC4CHEMD",
    other_folders=("BC4CHEMD-IOB",),
    published_counts={"train": 30_682, "devel": 30_639, "test": 26_364},
    citation="Krallinger et al. 2015, The CHEMDNER corpus of chemicals and drugs and its annotation principles, "
    "Journal of Cheminformatics",
    licence="unclear, as the repository itself says",
    further="; the original abstracts are at biocreative.org (BioCreative IV, CHEMDNER)",
)
