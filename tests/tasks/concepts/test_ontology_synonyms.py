"""Synonyms left out one at a time: a made-up ontology worked out by hand, a plain loop on real data, and the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from medsenteval import registry
from medsenteval.cli.main import main
from medsenteval.comparison.compare import compare_results
from medsenteval.contracts import Embeddings, Result
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.embedding.embed import embed_texts
from medsenteval.encoders.lexical import LexicalEncoder
from medsenteval.engine import evaluate_task
from medsenteval.errors import DataError, DataMissingError
from medsenteval.running.record import reference_results
from medsenteval.running.result_store import ResultStore
from medsenteval.settings import Settings
from medsenteval.tasks.concepts.concept_evaluation import ConceptDataset, _strata, _thirds, evaluate_concepts, measures_of_ranks
from medsenteval.tasks.concepts.ontology_synonyms import names_of_obo, task_of_source
from tests.words.ontologies.test_umls import TEXT as MRCONSO
from tests.words.terms.release import write_release

OBO = """format-version: 1.2
data-version: 7
ontology: x

[Term]
id: X:1
name: root

[Term]
id: X:2
name: red
synonym: "Crimson" EXACT []
synonym: "CRIMSON" EXACT []
synonym: "reddish" RELATED []
synonym: "colour of blood" EXACT layperson []
is_a: X:1

[Term]
id: X:3
name: scarlet
synonym: "crimson" EXACT []
synonym: "Scarlet" EXACT []
is_a: X:2

[Term]
id: X:4
name: obsolete blue
synonym: "azure" EXACT []
is_obsolete: true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "HPO").mkdir()
    (tmp_path / "HPO" / "hp.obo").write_text(OBO, "utf-8")
    return tmp_path


def read(root: Path, **options: str) -> ConceptDataset:
    found = load_dataset(registry.task("HPO"), root, Settings(task_options={"HPO": options}))
    assert isinstance(found, ConceptDataset)
    return found


def test_names_are_merged_and_each_synonym_is_left_out_of_its_own_dictionary(folder: Path) -> None:
    dataset = read(folder)
    assert dict(zip(dataset.names, dataset.concepts, strict=True)) == {
        "root": ("X:1",),
        "red": ("X:2",),
        "Crimson": ("X:2", "X:3"),
        "colour of blood": ("X:2",),
        "scarlet": ("X:3",),
    }
    crimson, blood = dataset.queries.values()
    assert (crimson.parts, crimson.concepts, crimson.left_out) == (("Crimson",), ("X:2", "X:3"), 2)
    assert crimson.traits == {"names": 3, "wording": "professional", "depth": 1}
    assert (blood.parts, blood.left_out, blood.traits["wording"]) == (("colour of blood",), 3, "lay")
    assert list(dataset.queries) == ["X:2#1", "X:2#4"]


def test_names_are_numbered_in_the_order_of_the_file(folder: Path) -> None:
    found = names_of_obo(folder / "HPO" / "hp.obo")
    assert [(name.concept, name.number, name.text, name.scope, name.wording) for name in found.names] == [
        ("X:1", 0, "root", "preferred", "professional"),
        ("X:2", 0, "red", "preferred", "professional"),
        ("X:2", 1, "Crimson", "exact", "professional"),
        ("X:2", 2, "CRIMSON", "exact", "professional"),
        ("X:2", 3, "reddish", "related", "professional"),
        ("X:2", 4, "colour of blood", "exact", "lay"),
        ("X:3", 0, "scarlet", "preferred", "professional"),
        ("X:3", 1, "crimson", "exact", "professional"),
        ("X:3", 2, "Scarlet", "exact", "professional"),
    ]
    assert (found.version, found.depths) == ("7", {"X:1": 0, "X:2": 1, "X:3": 2})


def test_related_synonyms_preferred_names_and_wordings_are_options(folder: Path) -> None:
    assert "X:2#3" in read(folder, synonyms="exact+related").queries
    preferred = read(folder, dictionary="preferred")
    assert preferred.names == ("root", "red", "scarlet")
    assert [query.left_out for query in preferred.queries.values()] == [-1, -1]
    assert list(read(folder, wording="lay").queries) == ["X:2#4"]
    assert list(read(folder, wording="professional").queries) == ["X:2#1"]


def test_an_ontology_that_does_not_tell_wordings_apart_says_so(folder: Path) -> None:
    (folder / "HPO" / "hp.obo").write_text(OBO.replace(" layperson", ""), "utf-8")
    assert all("wording" not in query.traits for query in read(folder).queries.values())
    with pytest.raises(DataError, match="does not say which synonyms are lay"):
        read(folder, wording="lay")


def test_frequencies_tell_rare_concepts_from_frequent_ones(folder: Path) -> None:
    table = folder / "HPO" / "frequencies.tsv"
    table.write_text("X:2\t12\nX:3\t5\n", "utf-8")
    assert {query.traits["frequency"] for query in read(folder).queries.values()} == {12.0}
    table.write_text("X:3\t0\n\nX:9\t1\n", "utf-8")
    assert {query.traits["frequency"] for query in read(folder).queries.values()} == {0.0}
    for wrong in ("X:3\tmany", "X:3", "X:3\t-1", "X:3\tinf"):
        table.write_text(f"X:2\t12\n{wrong}\n", "utf-8")
        with pytest.raises(DataError, match=r"frequencies\.tsv:2: .*an identifier, a tab and a count are expected"):
            read(folder)


def test_the_dictionary_is_part_of_the_signature_and_of_the_fingerprint(folder: Path) -> None:
    one = read(folder)
    (folder / "HPO" / "hp.obo").write_text(OBO.replace("name: root", "name: origin"), "utf-8")
    other = read(folder)
    assert one.options["dictionary-hash"] != other.options["dictionary-hash"]
    assert one.fingerprint != other.fingerprint


def plain_ranks(dataset: ConceptDataset, vectors: Embeddings, ids: list[str]) -> list[int]:
    """Rank by a loop over queries: all cosines in double precision, wrong names before right ones of the same score."""
    matrix = vectors.matrix[vectors.rows(dataset.names)].astype(np.float64)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-300)
    found = []
    rows_of: dict[str, list[int]] = {}
    for row, concepts in enumerate(dataset.concepts):
        for concept in concepts:
            rows_of.setdefault(concept, []).append(row)
    for item in ids:
        query = dataset.queries[item]
        vector = vectors.matrix[vectors.row_of[query.parts[0]]].astype(np.float64)
        scores = matrix @ (vector / max(np.linalg.norm(vector), 1e-300))
        right = np.zeros(len(scores), dtype=bool)
        right[[row for concept in query.concepts for row in rows_of[concept]]] = True
        right[query.left_out], scores[query.left_out] = False, -9.0
        found.append(1 + int(np.sum(~right & (scores >= scores[right].max() - 1e-9))))
    return found


def test_scores_equal_a_plain_loop_on_the_sample() -> None:
    task, dataset = registry.task("HPO"), read(sample_root())
    vectors = embed_texts(LexicalEncoder(), list(dataset.all_texts()), batch_size=64, task_name="HPO")
    settings = Settings(resamples=100)
    scores = evaluate_concepts(task, dataset, vectors, settings)
    ranks = plain_ranks(dataset, vectors, list(dataset.queries))
    assert scores.items["rank"] == ranks
    measured = measures_of_ranks(np.array(ranks)).mean(axis=1)
    assert [metric.value for metric in scores.metrics] == pytest.approx([100 * measured[0], 100 * measured[1], measured[2]])
    strata = scores.details["strata"]
    assert set(strata) == {"names", "wording", "depth"}
    for parts in strata.values():
        assert sum(part["queries"] for part in parts.values()) == scores.n_test
        assert sum(part["queries"] * part["mrr"][0] for part in parts.values()) == pytest.approx(scores.n_test * measured[2])
    # The best constant answer: a concept has at most three of these queries.
    assert scores.metric("acc@1").baseline == pytest.approx(100 * 3 / scores.n_test)


def test_strata_stand_in_the_order_of_their_values() -> None:
    measured, concepts = np.ones((3, 6)), list("abcdef")
    traits: dict[str, list[Any]] = {
        "frequency": [1e-05, 2e-05, 0.5, 3.0, 10.0, -1],
        "wording": ["lay", "lay", "expert", "lay", "expert", "lay"],
    }
    strata = _strata(traits, measured, concepts)
    assert list(strata["frequency"]) == ["unknown", "1e-05-2e-05", "0.5-0.5", "3-10"]
    assert [(label, part["queries"]) for label, part in strata["wording"].items()] == [("expert", 2), ("lay", 4)]


def test_a_depth_that_is_not_known_is_in_no_third() -> None:
    assert _thirds([3, -1, 1, 2, 5, 6]) == ["3-3", "unknown", "1-2", "1-2", "5-6", "5-6"]
    assert _thirds([-1, -1]) == ["unknown", "unknown"]
    # A root's depth and the frequency of a concept that does not occur are known.
    assert _thirds([0, 0, 5, -1]) == ["0-0", "0-0", "5-5", "unknown"]
    assert _thirds([0.0, 0.25, 1e6, 2.5e6]) == ["0-0.25", "0-0.25", "1e+06-1e+06", "2.5e+06-2.5e+06"]


@pytest.mark.realdata
@pytest.mark.slow
def test_scores_on_the_human_phenotype_ontology_equal_a_plain_loop(realdata: Path) -> None:
    dataset = load_dataset(registry.task("HPO"), realdata, Settings(limit=50))
    assert isinstance(dataset, ConceptDataset)
    assert (len(dataset.names), len(dataset.queries)) == (39_058, 20_024)
    vectors = embed_texts(LexicalEncoder(), list(dataset.all_texts()), batch_size=512, task_name="HPO")
    scores = evaluate_concepts(registry.task("HPO"), dataset, vectors, Settings(resamples=100))
    assert scores.items["rank"] == plain_ranks(dataset, vectors, list(scores.items["id"]))
    # The record was made of all queries, on another machine; a limit leaves out queries and no names.
    stored = next(each for each in reference_results() if (each.task, each.encoder) == ("HPO", "lexical"))
    ranks = dict(zip(stored.items["id"], stored.items["rank"], strict=True))
    assert scores.items["rank"] == [ranks[item] for item in scores.items["id"]]


def results(root: Path) -> list[Result]:
    task, settings = registry.task("HPO"), Settings(resamples=100)
    dataset = load_dataset(task, root, settings)
    return [evaluate_task(task, dataset, LexicalEncoder(size), settings) for size in (512, 16)]


def test_two_encoders_are_compared_over_concepts(tmp_path: Path) -> None:
    (tmp_path / "HPO").mkdir()
    (tmp_path / "HPO" / "hp.obo").write_bytes((sample_root() / "HPO" / "hp.obo").read_bytes())
    large, small = results(tmp_path)
    comparison = compare_results([large, replace(small, encoder="small")], resamples=500)
    column = next(column for column in comparison.columns if column.metric == "acc@1")
    assert column.test == "paired bootstrap"
    assert column.n_common == large.n_test
    found = column.difference("lexical", "small")
    assert found is not None
    assert found.interval.estimate == pytest.approx(large.metric("acc@1").value - small.metric("acc@1").value)


def test_the_command_links_any_ontology_and_stores_results(tmp_path: Path) -> None:
    ontology = tmp_path / "colours.obo"
    ontology.write_text(OBO, "utf-8")
    runner = CliRunner()
    options = ["--no-cache", "-e", "lexical", "-o", str(tmp_path / "results")]
    done = runner.invoke(main, ["terms", "link", "--obo", str(ontology), "--synonyms", "exact+related", *options])
    assert done.exit_code == 0, done.output
    assert "lexical  wording  lay" in done.output
    assert "version 7" in done.output
    (stored,) = ResultStore(tmp_path / "results").results()
    assert (stored.task, stored.n_test) == ("colours", 3)
    texts = json.dumps(dict(stored.items))
    assert "blood" not in texts.casefold(), "items name concepts and never hold texts"
    assert runner.invoke(main, ["terms", "link", *options]).exit_code == 2


def test_snomed_and_umls_give_names_too(tmp_path: Path) -> None:
    write_release(tmp_path / "SNOMED")
    (tmp_path / "UMLS").mkdir()
    (tmp_path / "UMLS" / "MRCONSO.RRF").write_text(MRCONSO, "utf-8")
    snomed, umls = (load_dataset(registry.task(name), tmp_path, Settings()) for name in ("SNOMED-CT", "UMLS"))
    assert isinstance(snomed, ConceptDataset)
    assert isinstance(umls, ConceptDataset)
    asked = {item: query.parts[0] for item, query in snomed.queries.items()}
    # Malaria's own name without its category is no query, nor are retired names, metadata and inactive concepts.
    assert {item: text for item, text in asked.items() if item.startswith("1#")} == {"1#2": "Paludism", "1#3": 'Ague "quartan"'}
    assert {item.split("#")[0] for item in asked} == {"1", "2", "5", "6", "11"}
    depths = {item.split("#")[0]: query.traits["depth"] for item, query in snomed.queries.items()}
    assert (depths["1"], depths["2"], depths["5"]) == (0, 1, 2)
    assert {item: query.parts[0] for item, query in umls.queries.items()} == {
        "C1#1": "Carcinoma of skin",
        "C3#1": 'Raised "temperature"',
    }
    assert all("depth" not in query.traits for query in umls.queries.values())


def test_a_release_without_its_relationships_has_no_depths(tmp_path: Path) -> None:
    release = write_release(tmp_path / "SNOMED")
    (file,) = release.rglob("sct2_Relationship_*")
    file.unlink()
    snomed = load_dataset(registry.task("SNOMED-CT"), tmp_path, Settings())
    assert isinstance(snomed, ConceptDataset)
    assert all(query.traits.keys() == {"names"} for query in snomed.queries.values())


def test_a_terminology_or_its_frequencies_that_are_not_there_are_named(folder: Path) -> None:
    (folder / "HPO" / "hp.obo").rename(folder / "own.obo")
    with pytest.raises(DataMissingError, match=r"HPO holds no file hp\.obo$"):
        registry.task("HPO").read(folder / "HPO", {})
    task = task_of_source("obo", folder / "own.obo", folder / "counts.tsv")
    assert (task.name, task.folders) == ("own", ())
    said = r"counts\.tsv: there is no such file; it should hold an identifier, a tab and a count on every line$"
    with pytest.raises(DataMissingError, match=said):
        task.read(folder, {})
