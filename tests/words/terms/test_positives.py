"""Similar pairs, against pairs worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from medsenteval.errors import DataError, DataMissingError
from medsenteval.words.ontologies.obo import read_obo
from medsenteval.words.ontologies.rf2 import SYNONYM, read_release
from medsenteval.words.terms.positives import (
    clean_name,
    positives_from_obo,
    positives_from_snomed,
    positives_from_umls,
    split_by_distance,
    without_category,
)
from tests.words.terms.release import write_release

LABELS = {
    "FSN_SYN": [
        ("Malaria", "Paludism"),
        ("Malaria", 'Ague "quartan"'),
        ("Sprain of ankle", "Ankle sprain"),
        ("Sprain of ankle", "ankle SPRAIN"),
        ("Sprain of ankle", "Sprains of ankle"),
        ("Burn (& scald)", "Scald"),
        ("Null", "NA"),
    ],
    "SYN_SYN": [
        ("Malaria", "Paludism"),
        ("Malaria", 'Ague "quartan"'),
        ("Paludism", 'Ague "quartan"'),
        ("Sprain of ankle", "Ankle sprain"),
        ("Sprain of ankle", "ankle SPRAIN"),
        ("Sprain of ankle", "Sprains of ankle"),
        ("Ankle sprain", "Sprains of ankle"),
        ("ankle SPRAIN", "Sprains of ankle"),
        ("Burn (& scald)", "Scald"),
        ("Null", "NA"),
    ],
}


def test_the_latest_state_of_a_relationship_says_what_is_below(tmp_path: Path) -> None:
    assert read_release(write_release(tmp_path)).children() == {"1": ["2"], "2": ["5", "3"]}


@pytest.mark.parametrize("form", ["Full", "Snapshot"])
def test_snomed_pairs_worked_out_by_hand(tmp_path: Path, form: str) -> None:
    release = read_release(write_release(tmp_path, form))
    assert release.form == form
    positives = positives_from_snomed(release)
    assert positives.pairs == {
        **LABELS,
        "same_as": [("Fever of malaria", "Malaria")],
        "possibly_equivalent_to": [("Marsh sickness", "Malaria")],
        "replaced_by": [("Marsh sickness", "Burn (& scald)"), ("Fever of malaria", "Null")],
    }
    # Concept 6 is reported once, though it is met twice.
    assert [row.item for row in positives.rejected] == ["concept 6"]
    assert "2 active fully specified names" in positives.rejected[0].reason


def test_legacy_stops_at_two_names_and_loses_the_hidden_association(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="concept 6: 2 active"):
        positives_from_snomed(read_release(write_release(tmp_path / "a")), legacy=True)
    positives = positives_from_snomed(read_release(write_release(tmp_path / "b", two_names=False)), legacy=True)
    # MOVED TO stands first, so REPLACED BY is lost; the model concept's pair stays, as only the row's module is looked at.
    assert positives.pairs["replaced_by"] == [
        ("Fever of malaria", "Is modification of"),
        ("Fever of malaria", "Null"),
        ("Fever of malaria", "First name"),
    ]
    assert positives.pairs["FSN_SYN"] == [*LABELS["FSN_SYN"][:6], ("First name", "Third name"), LABELS["FSN_SYN"][6]]


def test_category_suffix_rules() -> None:
    assert without_category("Malaria (disorder)") == "Malaria"
    assert without_category("Tinnitus (left) (finding)") == "Tinnitus (left)"
    assert without_category("Burn (& scald)") == "Burn (& scald)"
    assert without_category("(Burn) or (scald)") == "(Burn) or (scald)"
    assert without_category("Burn & (scald)") == "Burn & (scald)"
    assert without_category("Lactation: [problems] or [& disorders NOS])") == "Lactation: [problems] or [& disorders NOS])"
    assert without_category("Malaria") == "Malaria"
    assert clean_name("[D]Fever (finding)") == "Fever"
    assert clean_name("Fever [D] (finding)") == "Fever"
    assert clean_name("[D] Fever [D]") == "Fever"


def test_easy_and_hard_split_and_duplicates(tmp_path: Path) -> None:
    positives = positives_from_umls(
        [
            ("C1", ("Sacrum sprain", "Sacral sprain", "Vwxyzq sprain")),
            ("C2", ("Sacral sprain", "Sacrum sprain", "sacral SPRAIN")),
            ("C3", ("aaaaa", "bbbbb", "cccccc")),
        ],
        "test",
    )
    split = split_by_distance(positives)
    assert split["FSN_SYN", "easy"] == [("Sacrum sprain", "Sacral sprain"), ("aaaaa", "bbbbb")]
    assert split["FSN_SYN", "hard"] == [("Sacrum sprain", "Vwxyzq sprain"), ("aaaaa", "cccccc")]
    # The second concept's pair is the first one's turned around; the distance of b and c is 6.
    assert split["SYN_SYN", "easy"] == [("Sacrum sprain", "Sacral sprain"), ("aaaaa", "bbbbb")]
    assert ("bbbbb", "cccccc") in split["SYN_SYN", "hard"]
    assert split["same_as", "hard"] == []


OBO = """format-version: 1.2
remark: Free for tests.

[Term]
id: T:1
name: Heart disease
alt_id: T:7
alt_id: T:6
synonym: "Cardiac disease" EXACT []
synonym: "heart disease" EXACT []
synonym: "Heart\\ttrouble" RELATED []
synonym: "Disease" BROAD []
synonym: "Cardiac disease" NARROW []

[Term]
id: T:5
name: obsolete Carditis
is_obsolete: true
replaced_by: T:1
replaced_by: T:99
consider: T:7

[Term]
id: T:6
name: OBSOLETE: Heart sickness
is_obsolete: true
consider: T:5
"""


def test_obo_pairs_worked_out_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "toy.obo"
    path.write_text(OBO, "utf-8")
    positives = positives_from_obo(read_obo(path))
    assert positives.pairs == {
        "FSN_SYN": [("Heart disease", "Cardiac disease")],
        "SYN_SYN": [("Heart disease", "Cardiac disease")],
        # The narrow synonym is an exact one too and already known.
        "possibly_equivalent_to": [
            ("Heart trouble", "Heart disease"),
            ("Disease", "Heart disease"),
            ("Carditis", "Heart disease"),
        ],
        "replaced_by": [("Carditis", "Heart disease")],
        "same_as": [("Heart sickness", "Heart disease")],
    }
    assert [str(row) for row in positives.rejected] == [
        "toy.obo: term T:5: it points to T:99, which is not in the file",
        "toy.obo: term T:6: it points to T:5, which is obsolete or nameless",
    ]
    assert positives.rights == ("remark: Free for tests.",)


def test_releases_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match="no such folder"):
        read_release(tmp_path / "absent")
    with pytest.raises(DataMissingError, match="no Snapshot file of concepts"):
        read_release(tmp_path)
    folder = write_release(tmp_path / "release")
    with pytest.raises(DataMissingError, match=r"in language 'es' \(named like sct2_Description_Full-en_INT_20190131\.txt\)"):
        read_release(folder, language="es")
    assert read_release(folder, language="EN").names("1", SYNONYM) == ["Malaria", "Paludism", 'Ague "quartan"']
    concepts = folder / "Full" / "Terminology" / "sct2_Concept_Full_INT_20190131.txt"
    whole = concepts.read_text("utf-8")
    for damage, message in [
        (whole.replace("20100131", "2010"), r":5: effectiveTime '2010'"),
        (whole.replace("20100131", "2010013x"), r":5: effectiveTime '2010013x'"),
        (whole.replace("20100131\t0", "20100131\t2"), r":5: effectiveTime '20100131', active '2': not a row of RF2"),
        (whole + "12\t20190131\t1\n", "3 fields where the header has 5"),
        (whole.replace("moduleId", "module"), ":1: the columns are"),
    ]:
        concepts.write_text(damage, "utf-8")
        with pytest.raises(DataError, match=message):
            read_release(folder)
    concepts.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="not UTF-8"):
        read_release(folder)
    concepts.write_text(whole, "utf-8")
    (folder / "copy").mkdir()
    (folder / "copy" / concepts.name).write_text(whole, "utf-8")
    with pytest.raises(DataError, match="several Full files of concepts"):
        read_release(folder)
