"""Sentences with marked names of body parts, genes, chemicals, cells, diseases and species: the corpora of named entities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .vocabulary import CELLS, CONDITIONS, DRUGS, GENES, OUTCOMES, PROCESSES, Concept
from .wording import Writer, tokenise

__all__ = ["MENTION_CORPORA", "TaggedSentence", "write_mentions"]

#: A token and its IOB2 tag, for each token of a sentence.
TaggedSentence = list[tuple[str, str]]

#: Stands between a word and its tag while a sentence is put together; no template and no name holds it.
_MARK: Final = "\x01"

_BODY_PARTS: Final = (
    "liver", "hippocampus", "left ventricle", "bone marrow", "renal cortex", "retina", "spinal cord", "skeletal muscle",
    "colon", "cerebellum", "pancreatic islets", "thyroid gland", "aorta", "lung tissue", "skin", "mitochondria", "spleen",
    "lymph nodes", "plasma", "gastric mucosa", "femoral artery", "synovial fluid", "prefrontal cortex", "small intestine",
)  # fmt: skip
_SPECIES: Final = (
    "Escherichia coli", "mice", "humans", "Saccharomyces cerevisiae", "rats", "Drosophila melanogaster", "S. aureus",
    "zebrafish", "Arabidopsis thaliana", "rabbits", "Plasmodium falciparum", "HIV-1", "cattle", "Candida albicans", "macaques",
    "yeast",
)  # fmt: skip
_CELL_LINES: Final = ("A549", "MCF-7", "HepG2", "K562", "HeLa", "Jurkat", "HEK293", "U937", "THP-1", "PC12")

_TEMPLATES: Final[dict[str, tuple[str, ...]]] = {
    "AnatEM": (
        "{gene} [was expressed|was detected|accumulates] in the {body} of [mice|rats|patients with {condition}]",
        "[We examined|We stained|Biopsies were taken from] the {body} and the {body2} [after {weeks}|of {n} animals|]",
        "{drug} [reduced|did not change] [damage to|blood flow in] the {body} ({p})",
        "In {cell}, {process} [depends on|was blocked by] {gene}",
        "[Lesions of|Tumours in] the {body} [spread to|were absent from] the {body2}",
        "The [mean|median] {outcome} was {pct} % after {weeks}",
        "[A heart attack|Liver failure|Skin rash] was [reported|excluded] in {n} patients given {drug}",
    ),
    "BC2GM": (
        "{gene} [binds to|phosphorylates|represses|interacts with] {gene2} in {cell}",
        "[Loss|Overexpression|Knock-down] of {gene} [promotes|inhibits|has no effect on] {process}",
        "[Antibodies against|Mutations in|Levels of] {gene} were [found|measured] in {n} patients with {condition}",
        "{drug} [inhibits|activates] the {gene} [pathway|promoter|receptor]",
        "[The gene|A protein] of {few} exons was [cloned|sequenced] in {year}",
        "{outcome} did not [differ|change] between the groups ({ns})",
    ),
    "BC4CHEMD": (
        "{drug} [and|or|but not] {drug2} [reduced|increased|prevented] {outcome} in {condition}",
        "[Patients received|Rats were given|Cells were treated with] {drug} ({mg}) for {weeks}",
        "[The metabolites of|The effects of|Plasma levels of] {drug} were [measured|studied] in {cell}",
        "{drug} [blocked|induced] {process} [by way of|through] {gene}",
        "[The compound|This agent|The drug] was [well tolerated|withdrawn] in {year}",
        "{gene} [was mutated|was not affected] in {pct} % of [samples|tumours]",
    ),
    "JNLPBA": (
        "{protein} [activates|binds|represses] the {dna} in {cell_type}",
        "[Expression of|Transcription of] {rna} [rose|fell] in {cell_line} cells [after {weeks}|]",
        "{cell_line} cells [and|or] {cell_type} [express|secrete|lack] {protein}",
        "[Mutations of|Binding to] the {dna} [reduce|increase] {rna} levels ({p})",
        "{process} of {cell_type} [requires|is independent of] {protein}",
        "These [results|findings] [suggest|show] that {process} is [reversible|rapid] in {condition}",
    ),
    "NCBI-disease": (
        "[Mutations in|Loss of|Variants of] {gene} [cause|are linked to|were not found in] {condition}",
        "[We studied|We followed] {n} families with {condition} [for {weeks}|]",
        "{condition} is [a rare|a common|an inherited] [disorder|disease] of the {body}",
        "{gene} [is expressed|is absent] in the {body} of patients with {condition}",
        "{outcome} did not [differ|change] between carriers and controls ({ns})",
    ),
    "BC5CDR": (
        "{drug} [induced|caused|worsened|did not cause] {condition} in {n} patients",
        "[After {weeks} of|On] {drug} ({mg}) [a woman|a man] developed {condition}",
        "{drug} [and|or] {drug2} [reduced|increased] {outcome} in [rats|patients] with {condition}",
        "[The rash|The reaction] [resolved|persisted] when {drug} was stopped",
        "{gene} [was measured|was normal] in {pct} % of [samples|patients]",
    ),
    "Linnaeus": (
        "{gene} of {species} [is similar to|differs from] that of {species2}",
        "[Infection with|Strains of] {species} [was|were] found in the {body} of {n} {species2}",
        "[We sequenced|We cloned] {gene} from {species}",
        "{drug} [kills|does not affect] {species} [in vitro|]",
        "{process} [depends on|requires] {gene} in {cell}",
    ),
}

#: Slot -> the type of its entity, for each corpus; other slots are not marked.
MENTION_CORPORA: Final[dict[str, dict[str, str]]] = {
    "AnatEM": {"body": "Anatomy", "body2": "Anatomy", "cell": "Anatomy"},
    "BC2GM": {"gene": "GENE", "gene2": "GENE"},
    "BC4CHEMD": {"drug": "Chemical", "drug2": "Chemical"},
    "JNLPBA": {name: name if name.startswith("cell") or name == "protein" else name.upper()
               for name in ("dna", "rna", "protein", "cell_type", "cell_line")},
    "NCBI-disease": {"condition": "Disease"},
    "BC5CDR": {"drug": "Chemical", "drug2": "Chemical", "condition": "Disease"},
    "Linnaeus": {"species": "Species", "species2": "Species"},
}  # fmt: skip


def write_mentions(writer: Writer, corpus: str, n_sentences: int) -> list[TaggedSentence]:
    """Return tagged sentences in the style of a corpus; one name in 25 has no tag, because annotators miss some."""
    return [_write_sentence(writer, corpus) for _ in range(n_sentences)]


def _write_sentence(writer: Writer, corpus: str) -> TaggedSentence:
    types = MENTION_CORPORA[corpus]
    scene: dict[str, Concept | str] = {}
    for slot, draw in {**_SLOTS, **(_SPECIES_SLOTS if "species" in types else {})}.items():
        name = draw(writer)
        missed = slot in types and writer.chance(0.04)
        scene[slot] = _marked(name, types[slot]) if slot in types and not missed else name
    text = writer.write(writer.pick_skewed(_TEMPLATES[corpus]), scene) + "."
    words = (token.partition(_MARK) for token in tokenise(text).split())
    return [(word, tag or "O") for word, _, tag in words]


def _marked(name: str, kind: str) -> str:
    """Give every word of a name its tag, in a form that tokenising leaves whole."""
    return " ".join(f"{word}{_MARK}{'I' if i else 'B'}-{kind}" for i, word in enumerate(name.split()))


def _gene(writer: Writer) -> str:
    return writer.name(writer.pick(GENES)).removeprefix("the ")


#: What each slot is filled with; all are drawn for every sentence, whichever of them its template has.
_SLOTS: Final[dict[str, Callable[[Writer], str]]] = {
    "body": lambda writer: writer.pick_skewed(_BODY_PARTS),
    "body2": lambda writer: writer.pick_skewed(_BODY_PARTS),
    "gene": _gene,
    "gene2": _gene,
    "protein": _gene,
    "dna": lambda writer: f"{_gene(writer)} {writer.pick(['promoter', 'gene', 'enhancer'])}",
    "rna": lambda writer: f"{_gene(writer)} mRNA",
    "drug": lambda writer: writer.name(writer.pick(DRUGS)),
    "drug2": lambda writer: writer.name(writer.pick(DRUGS)),
    "cell": lambda writer: writer.name(writer.pick(CELLS)),
    "cell_type": lambda writer: writer.pick(CELLS).formal[0],
    "cell_line": lambda writer: writer.pick_skewed(_CELL_LINES),
    "process": lambda writer: writer.name(writer.pick(PROCESSES)),
    "outcome": lambda writer: writer.name(writer.pick(OUTCOMES)),
    "condition": lambda writer: writer.name(writer.pick(CONDITIONS)),
}
#: Drawn last and only where they are used, so that the other corpora stay as they are.
_SPECIES_SLOTS: Final[dict[str, Callable[[Writer], str]]] = {
    "species": lambda writer: writer.pick_skewed(_SPECIES),
    "species2": lambda writer: writer.pick_skewed(_SPECIES),
}
