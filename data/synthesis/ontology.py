"""A made-up ontology in OBO format, laid out like the Human Phenotype Ontology, with exact, related and lay synonyms."""

from __future__ import annotations

__all__ = ["ontology_files"]

_ORGANS = {
    "kidney": ("renal", "kidney"),
    "liver": ("hepatic", "liver"),
    "heart": ("cardiac", "heart"),
    "skin": ("cutaneous", "skin"),
    "eye": ("ocular", "eye"),
    "lung": ("pulmonary", "lung"),
}
#: Finding -> (another exact wording, how a layperson puts it).
_FINDINGS = {
    "inflammation": ("inflammatory change", "swelling"),
    "atrophy": ("wasting", "shrinking"),
    "haemorrhage": ("hemorrhage", "bleeding"),
    "neoplasm": ("tumour", "growth"),
    "fibrosis": ("fibrotic change", "scarring"),
}


def ontology_files(seed: int) -> dict[str, bytes]:
    """Return HPO/hp.obo; nothing in it is drawn, so the seed changes nothing."""
    terms = [_term(1, "Phenotypic abnormality", [], None)]
    number = 1
    for organ, (adjective, lay) in _ORGANS.items():
        number += 1
        above = number
        terms.append(_term(number, f"Abnormality of the {organ}", [(f"{adjective} abnormality", "EXACT", "")], 1))
        for finding, (other, plain) in _FINDINGS.items():
            number += 1
            synonyms = [
                (f"{finding} of the {organ}", "EXACT", ""),
                (f"{adjective} {other}", "EXACT", ""),
                (f"{plain} of the {lay}", "EXACT", "layperson"),
                (f"{adjective} disease", "RELATED", ""),
            ]
            terms.append(_term(number, f"{adjective.capitalize()} {finding}", synonyms, above))
    header = [
        "format-version: 1.2",
        "data-version: synthetic",
        'synonymtypedef: layperson "layperson term"',
        "ontology: hp",
        "remark: synthetic sample, nothing of it is medical knowledge",
    ]
    return {"HPO/hp.obo": ("\n".join(header) + "\n\n" + "\n".join(terms)).encode()}


def _term(number: int, name: str, synonyms: list[tuple[str, str, str]], parent: int | None) -> str:
    lines = ["[Term]", f"id: HP:9{number:06d}", f"name: {name}"]
    lines += [f'synonym: "{text}" {scope}{" " + kind if kind else ""} []' for text, scope, kind in synonyms]
    lines += [] if parent is None else [f"is_a: HP:9{parent:06d}"]
    return "\n".join(lines) + "\n"
