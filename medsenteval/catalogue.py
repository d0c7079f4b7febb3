"""The catalogue: every task and kind of encoder by name, and where its module is; ``registry`` looks names up in it."""

from __future__ import annotations

from typing import Final

__all__ = [
    "ANALOGY_TASKS",
    "BIO_PROBING_TASKS",
    "CONCEPT_TASKS",
    "DIAGNOSTIC_TASKS",
    "ENCODER_KINDS",
    "GENERAL_TASKS",
    "NER_TASKS",
    "NOT_OFFERED",
    "PROBING_TASKS",
    "SENTENCE_TASKS",
    "TASK_GROUPS",
    "WORD_GENERAL_TASKS",
    "WORD_TASKS",
    "TaskTable",
]

#: Canonical task name -> (module:attribute, a task or tasks by name; other names that resolve to it).
TaskTable = dict[str, tuple[str, tuple[str, ...]]]

SENTENCE_TASKS: Final[TaskTable] = {
    "MedNLI": ("medsenteval.tasks.sentence.mednli:TASK", ()),
    "RQE": ("medsenteval.tasks.sentence.rqe:TASK", ()),
    "PubMed20K": ("medsenteval.tasks.sentence.pubmed20k:TASK", ("PubMed20KRCT", "PubMedRCT")),
    "PICO": ("medsenteval.tasks.sentence.pico:TASK", ("PubMedPICO",)),
    "VaccineSA": ("medsenteval.tasks.sentence.vaccinesa:TASK", ("ClinicalSA", "PatientSA", "Vac.SA")),
    "CitationSA": ("medsenteval.tasks.sentence.citationsa:TASK", ("Cit.SA",)),
    "BioC": ("medsenteval.tasks.sentence.bioc:TASK", ("BioContradiction",)),
    "BioASQ": ("medsenteval.tasks.sentence.bioasq:TASK", ()),
    "ClinicalSTS": ("medsenteval.tasks.sentence.clinicalsts:TASK", ("C-STS",)),
    "BIOSSES": ("medsenteval.tasks.sentence.biosses:TASK", ()),
}

NER_TASKS: Final[TaskTable] = {
    "AnatEM": ("medsenteval.tasks.ner.corpus:TASKS", ()),
    "BC2GM": ("medsenteval.tasks.ner.corpus:TASKS", ()),
    "BC4CHEMD": ("medsenteval.tasks.ner.corpus:TASKS", ("CHEMDNER",)),
    "JNLPBA": ("medsenteval.tasks.ner.corpus:TASKS", ()),
    "NCBI-disease": ("medsenteval.tasks.ner.corpus:TASKS", ("NCBI",)),
    "BC5CDR": ("medsenteval.tasks.ner.corpus:TASKS", ("CDR",)),
    "Linnaeus": ("medsenteval.tasks.ner.corpus:TASKS", ()),
}

#: SentEval's own tasks, under SentEval's names.
GENERAL_TASKS: Final[TaskTable] = {
    "MR": ("medsenteval.tasks.general.senteval_tasks:TASKS", ()),
    "CR": ("medsenteval.tasks.general.senteval_tasks:TASKS", ()),
    "SUBJ": ("medsenteval.tasks.general.senteval_tasks:TASKS", ()),
    "MPQA": ("medsenteval.tasks.general.senteval_tasks:TASKS", ()),
    "SST2": ("medsenteval.tasks.general.senteval_tasks:TASKS", ()),
    "SST5": ("medsenteval.tasks.general.senteval_tasks:TASKS", ()),
    "TREC": ("medsenteval.tasks.general.senteval_tasks:TASKS", ()),
    "MRPC": ("medsenteval.tasks.general.senteval_tasks:TASKS", ()),
    "SNLI": ("medsenteval.tasks.general.senteval_tasks:TASKS", ()),
    "SICKEntailment": ("medsenteval.tasks.general.senteval_tasks:TASKS", ("SICK-E",)),
    "SICKRelatedness": ("medsenteval.tasks.general.senteval_tasks:TASKS", ("SICK-R",)),
    "SICKRelatednessCosine": ("medsenteval.tasks.general.senteval_tasks:TASKS", ("SICK-R-cosine",)),
    "STSBenchmark": ("medsenteval.tasks.general.senteval_tasks:TASKS", ("STSB",)),
    "STSBenchmarkCosine": ("medsenteval.tasks.general.senteval_tasks:TASKS", ("STSB-cosine",)),
    "STS12": ("medsenteval.tasks.general.senteval_tasks:TASKS", ()),
    "STS13": ("medsenteval.tasks.general.senteval_tasks:TASKS", ()),
    "STS14": ("medsenteval.tasks.general.senteval_tasks:TASKS", ()),
    "STS15": ("medsenteval.tasks.general.senteval_tasks:TASKS", ()),
    "STS16": ("medsenteval.tasks.general.senteval_tasks:TASKS", ()),
}

PROBING_TASKS: Final[TaskTable] = {
    "Length": ("medsenteval.tasks.general.linguistic_probing:TASKS", ("SentLen",)),
    "WordContent": ("medsenteval.tasks.general.linguistic_probing:TASKS", ("WC",)),
    "Depth": ("medsenteval.tasks.general.linguistic_probing:TASKS", ("TreeDepth",)),
    "TopConstituents": ("medsenteval.tasks.general.linguistic_probing:TASKS", ("TopConst",)),
    "BigramShift": ("medsenteval.tasks.general.linguistic_probing:TASKS", ("BShift",)),
    "Tense": ("medsenteval.tasks.general.linguistic_probing:TASKS", ()),
    "SubjNumber": ("medsenteval.tasks.general.linguistic_probing:TASKS", ("SubjNum",)),
    "ObjNumber": ("medsenteval.tasks.general.linguistic_probing:TASKS", ("ObjNum",)),
    "OddManOut": ("medsenteval.tasks.general.linguistic_probing:TASKS", ("SOMO",)),
    "CoordinationInversion": ("medsenteval.tasks.general.linguistic_probing:TASKS", ("CoordInv",)),
}

#: Probing tasks made from any text in PubMed20K's format.
BIO_PROBING_TASKS: Final[TaskTable] = {
    "BioLength": ("medsenteval.tasks.diagnostics.biomedical_probing:TASKS", ()),
    "BioWordContent": ("medsenteval.tasks.diagnostics.biomedical_probing:TASKS", ()),
    "BioBigramShift": ("medsenteval.tasks.diagnostics.biomedical_probing:TASKS", ()),
    "BioTense": ("medsenteval.tasks.diagnostics.biomedical_probing:TASKS", ()),
    "BioNumbers": ("medsenteval.tasks.diagnostics.biomedical_probing:TASKS", ()),
    "BioAbbreviation": ("medsenteval.tasks.diagnostics.biomedical_probing:TASKS", ()),
}

DIAGNOSTIC_TASKS: Final[TaskTable] = {
    "FunctionWords": ("medsenteval.tasks.diagnostics.changes:TASKS", ()),
    "Typos": ("medsenteval.tasks.diagnostics.changes:TASKS", ()),
    "CaseNoise": ("medsenteval.tasks.diagnostics.changes:TASKS", ()),
    "NegationFlip": ("medsenteval.tasks.diagnostics.changes:TASKS", ()),
    "DrugSwap": ("medsenteval.tasks.diagnostics.changes:TASKS", ()),
    "DoseSwap": ("medsenteval.tasks.diagnostics.changes:TASKS", ()),
    "LateralitySwap": ("medsenteval.tasks.diagnostics.changes:TASKS", ()),
    "WordOrder": ("medsenteval.tasks.diagnostics.changes:TASKS", ()),
    "Abbreviations": ("medsenteval.tasks.diagnostics.inferences:TASKS", ()),
    "MedicalKnowledge": ("medsenteval.tasks.diagnostics.inferences:TASKS", ()),
}

WORD_TASKS: Final[TaskTable] = {
    "Bio-SimLex": ("medsenteval.tasks.word.word_task:TASKS", ()),
    "Bio-SimVerb": ("medsenteval.tasks.word.word_task:TASKS", ()),
    "UMNSRS-sim": ("medsenteval.tasks.word.word_task:TASKS", ("UMN-sim", "UMNSRS-similarity")),
    "UMNSRS-rel": ("medsenteval.tasks.word.word_task:TASKS", ("UMN-rel", "UMNSRS-relatedness")),
    "UMNSRS-sim-mod": ("medsenteval.tasks.word.word_task:TASKS", ("UMNSRS-sim-449",)),
    "UMNSRS-rel-mod": ("medsenteval.tasks.word.word_task:TASKS", ("UMNSRS-rel-458",)),
    "MayoSRS": ("medsenteval.tasks.word.word_task:TASKS", ()),
    "MiniMayoSRS": ("medsenteval.tasks.word.word_task:TASKS", ("Pedersen",)),
    "Hliaoutakis": ("medsenteval.tasks.word.word_task:TASKS", ()),
    "EHR-RelA": ("medsenteval.tasks.word.word_task:TASKS", ()),
    "EHR-RelB": ("medsenteval.tasks.word.word_task:TASKS", ("EHR-Rel",)),
}

WORD_GENERAL_TASKS: Final[TaskTable] = {
    "SimLex-999": ("medsenteval.tasks.word.word_task:TASKS", ()),
    "SimVerb-3500": ("medsenteval.tasks.word.word_task:TASKS", ()),
    "WordSim-353": ("medsenteval.tasks.word.word_task:TASKS", ("WS-353",)),
    "WordSim-353-sim": ("medsenteval.tasks.word.word_task:TASKS", ("WS-353-SIM",)),
    "WordSim-353-rel": ("medsenteval.tasks.word.word_task:TASKS", ("WS-353-REL",)),
    "RG-65": ("medsenteval.tasks.word.word_task:TASKS", ()),
    "MC-30": ("medsenteval.tasks.word.word_task:TASKS", ()),
    "MEN": ("medsenteval.tasks.word.word_task:TASKS", ()),
    "MTurk-287": ("medsenteval.tasks.word.word_task:TASKS", ()),
    "MTurk-771": ("medsenteval.tasks.word.word_task:TASKS", ()),
    "Rare-Word": ("medsenteval.tasks.word.word_task:TASKS", ("RW",)),
    "YP-130": ("medsenteval.tasks.word.word_task:TASKS", ()),
    "VERB-143": ("medsenteval.tasks.word.word_task:TASKS", ()),
}

CONCEPT_TASKS: Final[TaskTable] = {
    "HPO": ("medsenteval.tasks.concepts.ontology_synonyms:TASKS", ("HumanPhenotypeOntology",)),
    "SNOMED-CT": ("medsenteval.tasks.concepts.ontology_synonyms:TASKS", ("SNOMED",)),
    "UMLS": ("medsenteval.tasks.concepts.ontology_synonyms:TASKS", ()),
    "NCBI-disease-linking": ("medsenteval.tasks.concepts.mention_linking:TASKS", ()),
    "BC5CDR-disease-linking": ("medsenteval.tasks.concepts.mention_linking:TASKS", ()),
    "BC5CDR-chemical-linking": ("medsenteval.tasks.concepts.mention_linking:TASKS", ()),
    "COMETA": ("medsenteval.tasks.concepts.mention_linking:TASKS", ()),
    "MedMentions-linking": ("medsenteval.tasks.concepts.mention_linking:TASKS", ("MedMentions",)),
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
    "dual": ("medsenteval.encoders.dual:load", "no argument: query=SPEC and document=SPEC, two models as one encoder"),
    "model2vec": ("medsenteval.encoders.static.model2vec:load", "PATH of a static model of the model2vec kind"),
    "endpoint": ("medsenteval.encoders.endpoint:load", "URL#MODEL of an OpenAI-compatible embeddings server"),
    "mteb": ("medsenteval.encoders.mteb_model:load", "name of a model that mteb implements"),
    "python": ("medsenteval.encoders.adapt:load_object", "MODULE:OBJECT, anything that can encode"),
}

ANALOGY_TASKS: Final[TaskTable] = {
    "BMASS": ("medsenteval.tasks.analogy.bmass:TASK", ()),
    "Google": ("medsenteval.tasks.analogy.general_analogies:TASKS", ("GoogleAnalogies", "questions-words")),
    "MSR": ("medsenteval.tasks.analogy.general_analogies:TASKS", ("MSRAnalogies",)),
    "BATS": ("medsenteval.tasks.analogy.general_analogies:TASKS", ()),
}

#: Group of tasks, as ``--tasks`` names it -> its tasks, in the order of tables.
TASK_GROUPS: Final[dict[str, TaskTable]] = {
    "sentence": SENTENCE_TASKS,
    "analogy": ANALOGY_TASKS,
    "ner": NER_TASKS,
    "general": GENERAL_TASKS,
    "probing": PROBING_TASKS,
    "word": WORD_TASKS,
    "word-general": WORD_GENERAL_TASKS,
    "concepts": CONCEPT_TASKS,
    "diagnostics": DIAGNOSTIC_TASKS,
    "bio-probing": BIO_PROBING_TASKS,
}
