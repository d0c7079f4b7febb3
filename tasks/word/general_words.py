"""The word similarity sets of general English, to which the biomedical ones are compared."""

from __future__ import annotations

from typing import Final

from medsenteval.contracts import Task
from medsenteval.tasks.word.word_pairs import PairFile
from medsenteval.tasks.word.word_task import word_task

__all__ = [
    "MC_30",
    "MEN",
    "MTURK_287",
    "MTURK_771",
    "RARE_WORD",
    "RG_65",
    "SIMLEX_999",
    "SIMVERB_3500",
    "VERB_143",
    "WORDSIM_353",
    "WORDSIM_353_REL",
    "WORDSIM_353_SIM",
    "YP_130",
]

_REPOSITORY: Final = "github.com/cambridgeltl/bio-simverb, wvlib/word-similarities"


def _task(name: str, pairs: int, file_names: tuple[str, ...], folder: str, citation: str) -> Task:
    return word_task(
        name,
        pairs,
        [PairFile(file_names)],
        folders=tuple(dict.fromkeys((name, folder))),
        citation=citation,
        obtain=f"copy {file_names[0]} from its authors' site or from {_REPOSITORY}/{folder} into {name}/ or wordsim/",
    )


SIMLEX_999 = _task(
    "SimLex-999", 999, ("SimLex-999.txt",), "SimLex-999",
    "Hill et al. 2015, SimLex-999: evaluating semantic models with (genuine) similarity estimation",
)  # fmt: skip
SIMVERB_3500 = word_task(
    "SimVerb-3500",
    3_500,
    {
        "all": [PairFile(("SimVerb-3500.txt", "SimVerb_2col.txt"))],
        "dev": [PairFile(("SimVerb-500-dev.txt",))],
        "test": [PairFile(("SimVerb-3000-test.txt",))],
    },
    choice="part",
    folders=("SimVerb-3500",),
    citation="Gerz et al. 2016, SimVerb-3500: a large-scale evaluation set of verb similarity",
    obtain=f"copy SimVerb-3500.txt from its authors' site or from {_REPOSITORY}/simVerb-3500 into SimVerb-3500/ or wordsim/",
)
WORDSIM_353 = _task(
    "WordSim-353", 353, ("WordSim-353.txt", "combined.csv", "combined.tab"), "WordSim-353",
    "Finkelstein et al. 2001, Placing search in context: the concept revisited",
)  # fmt: skip
WORDSIM_353_SIM = _task(
    "WordSim-353-sim", 203, ("EN-WS-353-SIM.txt", "wordsim_similarity_goldstandard.txt"), "WS-353-SIM",
    "Agirre et al. 2009, A study on similarity and relatedness using distributional and WordNet-based approaches",
)  # fmt: skip
WORDSIM_353_REL = _task(
    "WordSim-353-rel", 252, ("EN-WS-353-REL.txt", "wordsim_relatedness_goldstandard.txt"), "WS-353-REL",
    "Agirre et al. 2009, A study on similarity and relatedness using distributional and WordNet-based approaches",
)  # fmt: skip
RG_65 = _task(
    "RG-65", 65, ("EN-RG-65.txt", "RG-65.txt"), "RG-65", "Rubenstein and Goodenough 1965, Contextual correlates of synonymy"
)
MC_30 = _task(
    "MC-30", 30, ("EN-MC-30.txt", "MC-30.txt"), "MC-30", "Miller and Charles 1991, Contextual correlates of semantic similarity"
)
MEN = _task(
    "MEN", 3_000, ("EN-MEN-TR-3k.txt", "MEN_dataset_natural_form_full"), "MEM-TR-3k",
    "Bruni et al. 2014, Multimodal distributional semantics",
)  # fmt: skip
MTURK_287 = _task(
    "MTurk-287", 287, ("EN-MTurk-287.txt", "MTurk-287.txt"), "MTurk-287",
    "Radinsky et al. 2011, A word at a time: computing word relatedness using temporal semantic analysis",
)  # fmt: skip
MTURK_771 = _task(
    "MTurk-771", 771, ("EN-MTurk-771.txt", "MTURK-771.csv"), "MTurk-771",
    "Halawi et al. 2012, Large-scale learning of word relatedness with constraints",
)  # fmt: skip
RARE_WORD = _task(
    "Rare-Word", 2_034, ("Rare-Word.txt", "rw.txt"), "Rare-Word",
    "Luong et al. 2013, Better word representations with recursive neural networks for morphology",
)  # fmt: skip
YP_130 = _task(
    "YP-130", 130, ("EN-YP-130.txt", "YP-130.txt"), "YP-130", "Yang and Powers 2006, Verb similarity on the taxonomy of WordNet"
)
VERB_143 = _task(
    "VERB-143", 144, ("EN-VERB-143.txt", "VERB-143.txt"), "VERB-143",
    "Baker et al. 2014, An unsupervised model for instance level subcategorization acquisition",
)  # fmt: skip
