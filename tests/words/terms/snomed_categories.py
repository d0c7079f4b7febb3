"""An invented SNOMED CT release in which the paper's three categories have terms."""

from __future__ import annotations

from pathlib import Path

from medsenteval.words.ontologies.rf2 import FULLY_SPECIFIED_NAME as FSN
from medsenteval.words.terms.category_overlap import PAPER_CATEGORIES
from tests.words.terms.release import CORE, IS_A

#: Names below diagnostic procedure, therapeutic procedure and organism.
NAMES = (
    ("heart imaging", "skin imaging", "old heart scan", "skin scan", "heart echo"),
    ("heart repair", "skin graft", "old skin repair", "heart graft"),
    ("red worm", "old red fly", "worm", "green fly", "fly worm"),
)


def write_categories(folder: Path) -> Path:
    """Write a release in the Full form: a root and its children for each category."""
    concepts, descriptions, relations = [], [], []
    for root, kind, names in zip(PAPER_CATEGORIES, ("procedure", "procedure", "organism"), NAMES, strict=True):
        for number, name in enumerate(names):
            identifier = root if number == 0 else f"{root}{number}"
            concepts.append([identifier, "20190131", "1", CORE, "900000000000074008"])
            name_id = f"9{identifier}"
            descriptions.append(
                [name_id, "20190131", "1", CORE, identifier, "en", FSN, f"{name} ({kind})", "900000000000448009"]
            )
            if number:
                relations.append(
                    [f"8{identifier}", "20190131", "1", CORE, identifier, root, "0", IS_A, "900000000000011006", "1"]
                )
    headers = {
        "sct2_Concept_Full_INT_20190131.txt": "id effectiveTime active moduleId definitionStatusId",
        "sct2_Description_Full-en_INT_20190131.txt": "id effectiveTime active moduleId conceptId languageCode typeId term "
        "caseSignificanceId",
        "sct2_Relationship_Full_INT_20190131.txt": "id effectiveTime active moduleId sourceId destinationId relationshipGroup "
        "typeId characteristicTypeId modifierId",
        "der2_cRefset_AssociationFull_INT_20190131.txt": "id effectiveTime active moduleId refsetId referencedComponentId "
        "targetComponentId",
    }
    place = folder / "Full" / "Terminology"
    place.mkdir(parents=True)
    for (name, header), rows in zip(headers.items(), (concepts, descriptions, relations, []), strict=True):
        (place / name).write_text("".join("\t".join(row) + "\r\n" for row in [header.split(), *rows]), "utf-8")
    return folder
