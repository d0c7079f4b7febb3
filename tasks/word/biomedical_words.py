"""The biomedical word and term similarity sets."""

from __future__ import annotations

from typing import Final

from medsenteval.tasks.word.word_pairs import PairFile
from medsenteval.tasks.word.word_task import word_task

__all__ = [
    "BIO_SIMLEX",
    "BIO_SIMVERB",
    "EHR_RELA",
    "EHR_RELB",
    "HLIAOUTAKIS",
    "MAYOSRS",
    "MINIMAYOSRS",
    "UMNSRS_REL",
    "UMNSRS_REL_MOD",
    "UMNSRS_SIM",
    "UMNSRS_SIM_MOD",
]

_CHIU: Final = "Chiu et al. 2018, Bio-SimVerb and Bio-SimLex: wide-coverage evaluation sets of word similarity in biomedicine"
_UMNSRS: Final = "Pakhomov et al. 2010, Semantic similarity and relatedness between clinical terms: an experimental study"
_MODIFIED: Final = "Pakhomov et al. 2016, Corpus domain effects on distributional semantic modeling of medical terms"
_MAYO: Final = "Pakhomov et al. 2011, Towards a framework for developing semantic relatedness reference standards"
_EHR: Final = "Schulz et al. 2020, Biomedical concept relatedness: a large EHR-based benchmark, COLING"
_REPOSITORY: Final = "github.com/cambridgeltl/bio-simverb, wvlib/word-similarities"
_UMN: Final = "the University of Minnesota's repository (conservancy.umn.edu/handle/11299/196265)"
#: Bio-SimLex and Bio-SimVerb were cut a little below the thirds that means of five ratings fall on.
_SNAPPING: Final = {"scores": ("given", "thirds")}

BIO_SIMLEX = word_task(
    "Bio-SimLex",
    988,
    [PairFile(("Bio-SimLex.txt",))],
    folders=("Bio-SimLex",),
    options=_SNAPPING,
    citation=_CHIU,
    obtain=f"copy Bio-SimLex.txt from {_REPOSITORY}/bio-simlex into Bio-SimLex/ or wordsim/",
)
BIO_SIMVERB = word_task(
    "Bio-SimVerb",
    1_000,
    [PairFile(("Bio-SimVerb.txt",))],
    folders=("Bio-SimVerb",),
    options=_SNAPPING,
    citation=_CHIU,
    obtain=f"copy Bio-SimVerb.txt from {_REPOSITORY}/bio-simverb into Bio-SimVerb/ or wordsim/",
)
UMNSRS_SIM = word_task(
    "UMNSRS-sim",
    566,
    [PairFile(("UMNSRS_similarity.csv", "UMNSRS-sim.txt", "UMNSRS_sim_mesh.csv", "umnsrs/sim.part.json"))],
    folders=("UMNSRS",),
    licence="CC0 1.0",
    citation=_UMNSRS,
    obtain=f"put UMNSRS_similarity.csv of {_UMN}, or UMNSRS-sim.txt of {_REPOSITORY}/UMNSRS, into UMNSRS/ or wordsim/",
)
UMNSRS_REL = word_task(
    "UMNSRS-rel",
    587,
    [PairFile(("UMNSRS_relatedness.csv", "UMNSRS-rel.txt", "UMNSRS_rel_mesh.csv", "umnsrs/rel.part.json"))],
    folders=("UMNSRS",),
    licence="CC0 1.0",
    citation=_UMNSRS,
    obtain=f"put UMNSRS_relatedness.csv of {_UMN}, or UMNSRS-rel.txt of {_REPOSITORY}/UMNSRS, into UMNSRS/ or wordsim/",
)
UMNSRS_SIM_MOD = word_task(
    "UMNSRS-sim-mod",
    449,
    [PairFile(("UMNSRS_similarity_mod449_word2vec.csv", "UMNSRS_sim_mod_mesh.csv", "umnsrsMod/sim.part.json"))],
    folders=("UMNSRS", "UMNSRS-mod", "UMNSRSmod"),
    licence="CC0 1.0",
    citation=_MODIFIED,
    obtain=f"put UMNSRS_similarity_mod449_word2vec.csv of {_UMN} into UMNSRS/ or wordsim/",
)
UMNSRS_REL_MOD = word_task(
    "UMNSRS-rel-mod",
    458,
    [PairFile(("UMNSRS_relatedness_mod458_word2vec.csv", "UMNSRS_rel_mod_mesh.csv", "umnsrsMod/rel.part.json"))],
    folders=("UMNSRS", "UMNSRS-mod", "UMNSRSmod"),
    licence="CC0 1.0",
    citation=_MODIFIED,
    obtain=f"put UMNSRS_relatedness_mod458_word2vec.csv of {_UMN} into UMNSRS/ or wordsim/",
)
MAYOSRS = word_task(
    "MayoSRS",
    101,
    [PairFile(("MayoSRS.csv", "MayoSRS.txt", "MayoSRS_mesh.csv", "mayoSRS/mean.part.json"))],
    folders=("MayoSRS",),
    licence="CC0 1.0",
    citation=_MAYO,
    obtain=f"put MayoSRS.csv of {_UMN}, or MayoSRS.txt of {_REPOSITORY}/MayoSRS, into MayoSRS/ or wordsim/",
)

_MINI_TABLES: Final = ("MiniMayoSRS.csv", "MiniMayoSRS_mesh.csv")
_MINI_MEAN: Final = ("physicians", "coders")
MINIMAYOSRS = word_task(
    "MiniMayoSRS",
    29,
    {
        "mean": [
            PairFile(_MINI_TABLES[:1], _MINI_MEAN),
            PairFile(("MiniMayoSRS.txt",)),
            PairFile(_MINI_TABLES[1:], _MINI_MEAN),
        ],
        "physicians": [PairFile(_MINI_TABLES, ("physicians",)), PairFile(("miniMSRS/phy.part.json",))],
        "coders": [PairFile(_MINI_TABLES, ("coders",)), PairFile(("miniMSRS/cod.part.json",))],
    },
    choice="raters",
    folders=("MayoSRS", "MiniMayoSRS", "miniMSRS"),
    licence="CC0 1.0",
    citation="Pedersen et al. 2007, Measures of semantic similarity and relatedness in the biomedical domain",
    obtain=f"put MiniMayoSRS.csv of {_UMN}, or MiniMayoSRS.txt (the mean of physicians and coders) of {_REPOSITORY}/MayoSRS, "
    "into MayoSRS/ or wordsim/",
)
HLIAOUTAKIS = word_task(
    "Hliaoutakis",
    36,
    [PairFile(("Hliaoutakis*.csv", "Hliaoutakis*.txt"))],
    folders=("Hliaoutakis",),
    citation="Hliaoutakis 2005, Semantic similarity measures in MeSH ontology and their application to information retrieval",
    obtain="put the 36 pairs, for example Hliaoutakis2005_mesh.csv of github.com/Jiho-YesNLP/BERT-CRel-Embeddings (data/eval), "
    "into Hliaoutakis/ or wordsim/",
)
EHR_RELA = word_task(
    "EHR-RelA",
    111,
    [PairFile(("EHR-RelA.tsv",))],
    folders=("EHR-Rel", "ehr_rel"),
    licence="Apache 2.0",
    citation=_EHR,
    obtain="put EHR-RelA.tsv of github.com/babylonhealth/EHR-Rel into EHR-Rel/ or wordsim/",
)
EHR_RELB = word_task(
    "EHR-RelB",
    3_630,
    [PairFile(("EHR-RelB.tsv",))],
    folders=("EHR-Rel", "ehr_rel"),
    licence="Apache 2.0",
    citation=_EHR,
    obtain="put EHR-RelB.tsv of github.com/babylonhealth/EHR-Rel into EHR-Rel/ or wordsim/",
)
