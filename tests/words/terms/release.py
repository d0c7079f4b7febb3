"""A small SNOMED CT release in RF2, invented, with every trap that the rules have to handle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medsenteval.words.ontologies.rf2 import FULLY_SPECIFIED_NAME as FSN
from medsenteval.words.ontologies.rf2 import MODEL_COMPONENT_MODULE as MODEL
from medsenteval.words.ontologies.rf2 import SYNONYM as SYN

CORE = "900000000000207008"
POSSIBLY, REPLACED, SAME, MOVED = "900000000000523009", "900000000000526001", "900000000000527005", "900000000000524003"
IS_A = "116680003"

#: id, time, active, module
CONCEPTS = [
    ("1", "20020131", "1", CORE),  # Malaria
    ("2", "20020131", "1", CORE),  # Sprain of ankle
    ("3", "20020131", "1", CORE),
    ("3", "20100131", "0", CORE),  # deactivated later
    ("4", "20020131", "1", MODEL),  # metadata
    ("5", "20020131", "0", CORE),
    ("5", "20190131", "1", CORE),  # activated again
    ("6", "20020131", "1", CORE),  # two active fully specified names
    ("7", "20020131", "0", CORE),
    ("8", "20020131", "1", CORE),  # namespace concept
    ("9", "20020131", "0", CORE),
    ("10", "20020131", "0", CORE),
    ("11", "20020131", "1", CORE),
]

#: id, time, active, concept, type, term
DESCRIPTIONS = [
    ("100", "20020131", "1", "1", FSN, "Malaria (disorder)"),
    ("101", "20020131", "1", "1", SYN, "Malaria"),  # equal to the name without its category
    ("102", "20020131", "1", "1", SYN, "Paludism"),
    ("103", "20020131", "1", "1", SYN, "Marsh fever"),
    ("103", "20120131", "0", "1", SYN, "Marsh fever"),  # retired
    ("104", "20020131", "1", "1", SYN, 'Ague "quartan"'),
    ("200", "20020131", "1", "2", FSN, "Ankle sprain (disorder)"),
    ("200", "20150131", "1", "2", FSN, "Sprain of ankle (disorder)"),  # reworded
    ("201", "20020131", "1", "2", SYN, "Ankle sprain"),
    ("202", "20020131", "1", "2", SYN, "ankle SPRAIN"),  # equal to the last but for case
    ("203", "20020131", "1", "2", SYN, "Sprains of ankle"),
    ("300", "20020131", "1", "3", FSN, "[D]Fever of malaria (context-dependent category)"),
    ("400", "20020131", "1", "4", FSN, "Is modification of (attribute)"),
    ("401", "20020131", "1", "4", SYN, "Modification of"),
    ("500", "20020131", "1", "5", FSN, "Burn (& scald)"),
    ("501", "20020131", "1", "5", SYN, "Scald"),
    ("600", "20020131", "1", "6", FSN, "First name (finding)"),
    ("601", "20020131", "1", "6", FSN, "Second name (finding)"),
    ("602", "20020131", "1", "6", SYN, "Third name"),
    ("700", "20020131", "1", "7", FSN, "Marsh sickness (disorder)"),
    ("800", "20020131", "1", "8", FSN, "Extension namespace 1000001 (namespace concept)"),
    ("900", "20020131", "1", "9", FSN, "Paludism (disorder)"),
    ("1000", "20020131", "1", "10", FSN, "MALARIA [D]"),
    ("1100", "20020131", "1", "11", FSN, "Null (finding)"),
    ("1101", "20020131", "1", "11", SYN, "null"),
    ("1102", "20020131", "1", "11", SYN, "NA"),
]

#: time, active, module, kind, source, target
ASSOCIATIONS = [
    ("20100131", "1", CORE, SAME, "3", "1"),  # Fever of malaria -> Malaria
    ("20100131", "1", CORE, POSSIBLY, "7", "1"),  # Marsh sickness -> Malaria
    ("20100131", "1", CORE, POSSIBLY, "7", "2"),
    ("20150131", "0", CORE, POSSIBLY, "7", "2"),  # withdrawn
    ("20100131", "1", CORE, MOVED, "7", "5"),  # hides the next row from the reference code
    ("20110131", "1", CORE, REPLACED, "7", "5"),
    ("20100131", "1", CORE, POSSIBLY, "7", "8"),  # namespace
    ("20100131", "1", CORE, SAME, "9", "1"),  # Paludism, Malaria: known as names of one concept
    ("20100131", "1", CORE, SAME, "10", "1"),  # the same but for case
    ("20100131", "1", MODEL, SAME, "3", "2"),  # an association of the model module
    ("20100131", "1", CORE, REPLACED, "3", "4"),  # a concept of the model module
    ("20100131", "1", CORE, REPLACED, "3", "11"),
    ("20100131", "1", CORE, REPLACED, "3", "6"),  # a target with two names
]

RELATIONSHIPS = [
    ("20020131", "1", "2", "1"),
    ("20020131", "1", "5", "2"),
    ("20020131", "1", "3", "2"),
    ("20020131", "1", "11", "1"),
    ("20100131", "0", "11", "1"),
    ("20100131", "1", "11", "1"),  # of two rows of one time the first counts
]


def write_release(folder: Path, form: str = "Full", *, two_names: bool = True) -> Path:
    """Write the release; a Snapshot holds the latest row of each component only."""

    def rows(table: Sequence[tuple[str, ...]], key: int) -> list[tuple[str, ...]]:
        latest = {row[:key]: row for row in sorted(table, key=lambda row: row[key])}
        return list(table if form == "Full" else latest.values())

    def write(name: str, header: str, lines: list[list[str]]) -> None:
        text = "".join("\t".join(line) + "\r\n" for line in [header.split(), *lines])
        path = folder / form / "Terminology" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

    write(
        f"sct2_Concept_{form}_INT_20190131.txt",
        "id effectiveTime active moduleId definitionStatusId",
        [[*row, "900000000000074008"] for row in (rows(CONCEPTS, 1))],
    )
    descriptions = [row for row in DESCRIPTIONS if two_names or row[0] != "601"]
    write(
        f"sct2_Description_{form}-en_INT_20190131.txt",
        "id effectiveTime active moduleId conceptId languageCode typeId term caseSignificanceId",
        [
            [number, time, active, CORE, concept, "en", kind, term, "900000000000448009"]
            for number, time, active, concept, kind, term in rows(descriptions, 1)
        ],
    )
    latest = {row[2:]: row for row in ASSOCIATIONS}
    associations = ASSOCIATIONS if form == "Full" else list(latest.values())
    write(
        f"der2_cRefset_Association{form}_INT_20190131.txt",
        "id effectiveTime active moduleId refsetId referencedComponentId targetComponentId",
        [[f"row{number}", *row] for number, row in enumerate(associations)],
    )
    write(
        f"sct2_Relationship_{form}_INT_20190131.txt",
        "id effectiveTime active moduleId sourceId destinationId relationshipGroup typeId characteristicTypeId modifierId",
        [
            [f"{source}-{target}", time, active, CORE, source, target, "0", IS_A, "900000000000011006", "900000000000451002"]
            for time, active, source, target in RELATIONSHIPS
        ],
    )
    return folder
