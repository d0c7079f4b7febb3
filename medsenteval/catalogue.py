"""The catalogue: every task and kind of encoder by name, and where its module is; ``registry`` looks names up in it."""

from __future__ import annotations

from typing import Final

#: Canonical task name -> (module:attribute, a task or tasks by name; other names that resolve to it).
TaskTable = dict[str, tuple[str, tuple[str, ...]]]

#: Task -> what others call it.
_ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "PubMed20K": ("PubMed20KRCT", "PubMedRCT"),
    "PICO": ("PubMedPICO",),
    "VaccineSA": ("ClinicalSA", "PatientSA", "Vac.SA"),
    "CitationSA": ("Cit.SA",),
    "BioC": ("BioContradiction",),
    "ClinicalSTS": ("C-STS",),
    "Google": ("GoogleAnalogies", "questions-words"),
    "MSR": ("MSRAnalogies",),
    "BC4CHEMD": ("CHEMDNER",),
    "NCBI-disease": ("NCBI",),
    "BC5CDR": ("CDR",),
    "SICKEntailment": ("SICK-E",),
    "SICKRelatedness": ("SICK-R",),
    "SICKRelatednessCosine": ("SICK-R-cosine",),
    "STSBenchmark": ("STSB",),
    "STSBenchmarkCosine": ("STSB-cosine",),
    "Length": ("SentLen",),
    "WordContent": ("WC",),
    "Depth": ("TreeDepth",),
    "TopConstituents": ("TopConst",),
    "BigramShift": ("BShift",),
    "SubjNumber": ("SubjNum",),
    "ObjNumber": ("ObjNum",),
    "OddManOut": ("SOMO",),
    "CoordinationInversion": ("CoordInv",),
    "UMNSRS-sim": ("UMN-sim", "UMNSRS-similarity"),
    "UMNSRS-rel": ("UMN-rel", "UMNSRS-relatedness"),
    "UMNSRS-sim-mod": ("UMNSRS-sim-449",),
    "UMNSRS-rel-mod": ("UMNSRS-rel-458",),
    "MiniMayoSRS": ("Pedersen",),
    "EHR-RelB": ("EHR-Rel",),
    "WordSim-353": ("WS-353",),
    "WordSim-353-sim": ("WS-353-SIM",),
    "WordSim-353-rel": ("WS-353-REL",),
    "Rare-Word": ("RW",),
    "HPO": ("HumanPhenotypeOntology",),
    "SNOMED-CT": ("SNOMED",),
    "MedMentions-linking": ("MedMentions",),
}


def _tasks(place: str, names: str) -> TaskTable:
    """Return tasks by their names, which blanks separate; {} in the place of their module is the name in lower case."""
    return {name: (f"medsenteval.tasks.{place.format(name.lower())}", _ALIASES.get(name, ())) for name in names.split()}


#: Group of tasks, as ``--tasks`` names it -> its tasks, in the order of tables.
TASK_GROUPS: Final[dict[str, TaskTable]] = {
    "sentence": _tasks("sentence.{}:TASK", "MedNLI RQE PubMed20K PICO VaccineSA CitationSA BioC BioASQ ClinicalSTS BIOSSES"),
    "analogy": _tasks("analogy.analogy_sets:TASKS", "BMASS Google MSR BATS"),
    "ner": _tasks("ner.corpus:TASKS", "AnatEM BC2GM BC4CHEMD JNLPBA NCBI-disease BC5CDR Linnaeus"),
    "general": _tasks(
        "general.senteval_tasks:TASKS",
        "MR CR SUBJ MPQA SST2 SST5 TREC MRPC SNLI SICKEntailment SICKRelatedness SICKRelatednessCosine STSBenchmark "
        "STSBenchmarkCosine STS12 STS13 STS14 STS15 STS16",
    ),
    "probing": _tasks(
        "general.senteval_tasks:TASKS",
        "Length WordContent Depth TopConstituents BigramShift Tense SubjNumber ObjNumber OddManOut CoordinationInversion",
    ),
    "word": _tasks(
        "word.word_evaluation:TASKS",
        "Bio-SimLex Bio-SimVerb UMNSRS-sim UMNSRS-rel UMNSRS-sim-mod UMNSRS-rel-mod MayoSRS MiniMayoSRS Hliaoutakis EHR-RelA "
        "EHR-RelB",
    ),
    "word-general": _tasks(
        "word.word_evaluation:TASKS",
        "SimLex-999 SimVerb-3500 WordSim-353 WordSim-353-sim WordSim-353-rel RG-65 MC-30 MEN MTurk-287 MTurk-771 Rare-Word "
        "YP-130 VERB-143",
    ),
    "concepts": _tasks("concepts.ontology_synonyms:TASKS", "HPO SNOMED-CT UMLS")
    | _tasks(
        "concepts.mention_linking:TASKS",
        "NCBI-disease-linking BC5CDR-disease-linking BC5CDR-chemical-linking COMETA MedMentions-linking",
    ),
    "diagnostics": _tasks(
        "diagnostics.changes:TASKS",
        "FunctionWords Typos CaseNoise NegationFlip DrugSwap DoseSwap LateralitySwap WordOrder",
    )
    | _tasks("diagnostics.inferences:TASKS", "Abbreviations MedicalKnowledge"),
    "bio-probing": _tasks(
        "diagnostics.biomedical_probing:TASKS",
        "BioLength BioWordContent BioBigramShift BioTense BioNumbers BioAbbreviation",
    ),
}

#: Names of SentEval's tasks that are known and not offered, with the reason.
NOT_OFFERED: Final = {
    "ImageCaptionRetrieval": "it ranks images by captions, which needs SentEval's features of COCO's images beside the texts; "
    "run it with SentEval itself",
}

#: Kind of encoder -> (module:loader, what its argument is).
ENCODER_KINDS: Final[dict[str, tuple[str, str]]] = {
    "lexical": ("medsenteval.encoders.lexical:load", "no argument: hashed words and character n-grams, no weights"),
    "vectors": ("medsenteval.encoders.static.vectors:load", "PATH of GloVe, word2vec or fastText .vec word vectors"),
    "fasttext": ("medsenteval.encoders.static.fasttext:load", "PATH of a fastText .bin model, subwords included"),
    "transformers": (
        "medsenteval.encoders.contextual.transformer:load",
        "model ID or PATH: BERT, BioBERT, SciBERT, RoBERTa, GPT, ...",
    ),
    "elmo": ("medsenteval.encoders.contextual.elmo:load", "OPTIONS.json+WEIGHTS.hdf5 of AllenNLP"),
    "flair": ("medsenteval.encoders.contextual.flair:load", "FORWARD.pt+BACKWARD.pt language models"),
    "infersent": ("medsenteval.encoders.contextual.infersent:load", "ENCODER.pkl+VECTORS"),
    "use": ("medsenteval.encoders.contextual.use:load", "PATH or address of a TensorFlow Hub sentence encoder"),
    "sentence-transformers": ("medsenteval.encoders.contextual.sentence_transformer:load", "model ID or PATH"),
    "dual": ("medsenteval.encoders.derived:load", "no argument: query=SPEC and document=SPEC, two models as one encoder"),
    "model2vec": ("medsenteval.encoders.static.model2vec:load", "PATH of a static model of the model2vec kind"),
    "endpoint": ("medsenteval.encoders.endpoint:EndpointEncoder", "URL#MODEL of an OpenAI-compatible embeddings server"),
    "mteb": ("medsenteval.encoders.mteb_model:load", "name of a model that mteb implements"),
    "python": ("medsenteval.encoders.adapt:load_object", "MODULE:OBJECT, anything that can encode"),
}
