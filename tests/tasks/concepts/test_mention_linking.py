"""Linking mentions as SapBERT does: its own numbers on made-up files, BioSyn's rules, and what the dictionary holds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from medsenteval import registry
from medsenteval.contracts import Result
from medsenteval.datasets.locate import load_dataset
from medsenteval.encoders.lexical import LexicalEncoder
from medsenteval.engine import evaluate_task
from medsenteval.errors import DataError, DataMissingError
from medsenteval.settings import Settings
from medsenteval.tasks.concepts.concept_evaluation import ConceptDataset
from medsenteval.tasks.concepts.mention_linking import expand_abbreviations, plain_text

FIXTURES = Path(__file__).parent / "fixtures"


def scored(name: str, **options: str) -> Result:
    task = registry.task(name)
    settings = Settings(task_options={task.name: options}, resamples=100)
    return evaluate_task(task, load_dataset(task, FIXTURES, settings), LexicalEncoder(), settings)


def read(name: str, root: Path = FIXTURES, **options: str) -> ConceptDataset:
    task = registry.task(name)
    found = load_dataset(task, root, Settings(task_options={task.name: options}))
    assert isinstance(found, ConceptDataset)
    return found


# Recorded with record_sapbert.py from cambridgeltl/sapbert at commit 1a528f6, vectors of the lexical encoder.
@pytest.mark.parametrize(
    ("name", "options", "queries", "first", "fifth"),
    [
        ("NCBI-disease-linking", {}, 23, 19, 22),
        ("NCBI-disease-linking", {"duplicates": "once"}, 22, 18, 21),
        ("NCBI-disease-linking", {"mentions": "train"}, 23, 18, 22),
        ("NCBI-disease-linking", {"mentions": "train", "duplicates": "once"}, 22, 17, 21),
        ("NCBI-disease-linking", {"mentions": "none"}, 23, 17, 21),
        ("NCBI-disease-linking", {"mentions": "none", "duplicates": "once"}, 22, 16, 20),
        ("COMETA", {}, 6, 4, 5),
    ],
)
def test_scores_equal_those_of_sapbert(name: str, options: dict[str, str], queries: int, first: int, fifth: int) -> None:
    result = scored(name, **options)
    assert result.n_test == queries
    assert sum(result.items["acc@1"]) == first
    assert sum(result.items["acc@5"]) == fifth
    assert result.metric("acc@1").value == pytest.approx(100 * first / queries)
    assert "score=dot" in result.signature


def test_the_signature_names_the_dictionary() -> None:
    one, other = scored("NCBI-disease-linking"), scored("NCBI-disease-linking", mentions="none")
    hashes = [next(part for part in each.signature.split("|") if part.startswith("dictionary-hash=")) for each in (one, other)]
    assert len(set(hashes)) == 2
    assert all(len(found) == len("dictionary-hash=") + 12 for found in hashes)


def test_every_part_of_a_composite_mention_has_to_be_found() -> None:
    dataset = read("NCBI-disease-linking")
    composite = dataset.queries["200.concept:6"]
    assert composite.parts == ("benign marn tumour", "marn cancers")
    assert composite.concepts == ("D900013", "D900011")
    result = scored("NCBI-disease-linking")
    parts = {
        part: scored_part(part, composite.concepts)
        for part in composite.parts
    }  # fmt: skip
    assert result.items["rank"][result.items["id"].index("200.concept:6")] == max(parts.values())
    assert "200.concept:6" not in read("NCBI-disease-linking", composites="left-out").queries


def scored_part(part: str, concepts: tuple[str, ...]) -> int:
    """Rank one mention by a plain loop."""
    dataset, encoder = read("NCBI-disease-linking"), LexicalEncoder()
    query = encoder.encode([part])[0]
    scores = encoder.encode(dataset.names) @ query
    order = sorted(range(len(scores)), key=lambda row: -scores[row])
    return 1 + next(place for place, row in enumerate(order) if set(dataset.concepts[row]) & set(concepts))


def test_a_mention_without_an_identifier_in_the_dictionary_is_never_found() -> None:
    result = scored("NCBI-disease-linking")
    at = result.items["id"].index("300.concept:8")
    assert result.items["rank"][at] == 0
    assert result.items["mrr"][at] == 0.0
    assert any("1 of 23 queries mean a concept that the dictionary does not have" in note for note in result.notes)


def test_raw_mentions_are_expanded_stripped_and_linked_as_in_biosyn() -> None:
    raw = read("NCBI-disease-linking", text="raw", abbreviations="expanded", punctuation="removed")
    assert [(query.parts, query.concepts) for query in raw.queries.values()] == [
        (("velmar syndrome",), ("D900001",)),
        (("renal orvitis acute",), ("D900005",)),
        (("marn neoplasm benign",), ("D900013",)),
    ]
    assert any("1 raw mention(s) with an identifier that no name has" in note for note in raw.notes)
    as_written = read("NCBI-disease-linking", text="raw", case="as-written")
    assert next(iter(as_written.queries.values())).parts == ("VS",)


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("VS", "Velmar syndrome"),
        ("acute VS, chronic", "acute Velmar syndrome, chronic"),
        ("RO/VS of old", "renal orvitis/Velmar syndrome of old"),
        ("LVS", "late Velmar syndrome"),
        ("A of B", "A of B"),  # two short forms that stand for each other
    ],
)
def test_abbreviations(mention: str, expected: str) -> None:
    forms = {"VS": "Velmar syndrome", "RO": "renal orvitis", "LVS": "late VS", "A": "B", "B": "A"}
    assert expand_abbreviations(mention, forms) == expected


def test_punctuation_and_case_are_named_options() -> None:
    kept = {"case": "as-written", "punctuation": "as-written"}
    assert plain_text(" A-b (c)|d ", kept) == "A-b (c)|d"
    assert plain_text("A-b (c)|d", {"case": "lower", "punctuation": "removed"}, keep="|") == "a b c |d"


def test_broken_lines_are_rejected_with_their_place(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "ncbi-disease", tmp_path / "ncbi-disease")
    with (tmp_path / "ncbi-disease" / "test_dictionary.txt").open("a", encoding="utf-8") as stream:
        stream.write("D1 no bars\nD2||  \n")
    settings = Settings(allow_incomplete=True)
    found = load_dataset(registry.task("NCBI-disease-linking"), tmp_path, settings)
    assert [str(row) for row in found.rejected] == [
        "test_dictionary.txt:38: 1 field(s) by two bars where at least 2 are expected",
        "test_dictionary.txt:39: a name without a letter or digit",
    ]
    with pytest.raises(DataError, match="not ready"):
        load_dataset(registry.task("NCBI-disease-linking"), tmp_path, Settings())


def test_missing_files_are_named(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "ncbi-disease", tmp_path / "ncbi-disease")
    (tmp_path / "ncbi-disease" / "test" / "400.abbr").unlink()
    with pytest.raises(DataMissingError, match=r"400\.abbr: save there what Ab3P prints"):
        read("NCBI-disease-linking", tmp_path, text="raw", abbreviations="expanded")
    with pytest.raises(DataMissingError, match=r"processed_dev holds no file \*\.concept"):
        read("NCBI-disease-linking", part="dev")


def test_a_line_of_cometa_without_a_term_or_its_identifier_is_rejected(tmp_path: Path) -> None:
    lines = ["ID\tTerm\tGeneral SNOMED ID", "0\theadaches\t900", "1\t\t900", "2\tsneezing\t", "", "3\tthe flu\t901"]
    folder = tmp_path / "COMETA"
    (folder / "splits" / "stratified_general").mkdir(parents=True)
    (folder / "COMETA_id_sf_dictionary.txt").write_text("900||headache\n901||influenza\n", "utf-8")
    file = folder / "splits" / "stratified_general" / "test.csv"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    dataset = registry.task("COMETA").read(folder, {})
    assert isinstance(dataset, ConceptDataset)
    assert {item: (query.parts, query.concepts) for item, query in dataset.queries.items()} == {
        "test.csv:2": (("headaches",), ("900",)),
        "test.csv:6": (("the flu",), ("901",)),
    }
    assert [str(row) for row in dataset.rejected] == [f"test.csv:{line}: no Term or no General SNOMED ID" for line in (3, 4)]
    file.write_text("Term\tSNOMED\nheadaches\t900\n", "utf-8")
    with pytest.raises(DataMissingError, match=r"test\.csv:1: no columns Term and General SNOMED ID among "):
        registry.task("COMETA").read(folder, {})


def test_medmentions_queries_are_an_identifier_and_a_mention(tmp_path: Path) -> None:
    (tmp_path / "dictionary.txt").write_text("C1||Velmar syndrome\nC2|C3||orvitis\nC4||velmar syndrome\n\n", "utf-8")
    (tmp_path / "test_query.txt").write_text("C1||VELMAR\n\nno bars\nC3||orvitis, acute||more\nC9||--\n", "utf-8")
    task = registry.task("MedMentions-linking")
    dataset = task.read(tmp_path, {"punctuation": "removed"})
    assert isinstance(dataset, ConceptDataset)
    assert {item: (query.parts, query.concepts) for item, query in dataset.queries.items()} == {
        "test_query.txt:1": (("velmar",), ("C1",)),
        "test_query.txt:4": (("orvitis acute",), ("C3",)),
    }
    assert dict(zip(dataset.names, dataset.concepts, strict=True)) == {
        "velmar syndrome": ("C1", "C4"),
        "orvitis": ("C2", "C3"),
    }
    assert "1 repeated name(s) of dictionary.txt are one name with all their identifiers" in dataset.notes
    assert "2 names of 4 concepts in the dictionary" in dataset.notes
    assert [str(row) for row in dataset.rejected] == [
        "test_query.txt:3: 1 field(s) by two bars where at least 2 are expected",
        "test_query.txt:5: the mention '--' has no letter or digit",
    ]
    (tmp_path / "test_query.txt").write_text("no bars\n", "utf-8")
    with pytest.raises(DataError, match=r"0 queries and 2 names in .*; the first rejected: test_query\.txt:1: 1 field"):
        task.read(tmp_path, {})
