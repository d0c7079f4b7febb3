"""Readers of data sets, each with small valid files; a new one is one entry."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from medsenteval import registry
from medsenteval.contracts import Task
from medsenteval.support.files import inner_text, read_json, read_word_tables, read_xml
from tests.fuzz.reader import Files, Reader, as_json, as_text, as_zip

__all__ = ["RQE_XML", "TASK_READERS"]


def _task(name: str, **options: str) -> Callable[[Path], Any]:
    """Return the task's own reading, with its default options but for those given."""

    @cache
    def task() -> Task:  # looked up at the first input: it may not be registered at all
        return registry.task(name)

    return lambda folder: task().read(folder, {key: allowed[0] for key, allowed in task().options.items()} | options)


def _task_option(name: str, option: str) -> tuple[str, ...]:
    return registry.task(name).options[option]


def _word_document(name: str) -> Callable[[Files], Files]:
    return lambda files: {
        file.replace(".xml", ".docx"): as_zip({"word/document.xml": content}) for file, content in files.items()
    }


def _table(*rows: tuple[str, ...]) -> bytes:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    cells = "".join(
        "<w:tr>" + "".join(f"<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>" for cell in row) + "</w:tr>" for row in rows
    )
    return f'<w:document xmlns:w="{space}"><w:body><w:tbl>{cells}</w:tbl></w:body></w:document>'.encode()


_QUESTIONS: Final = {
    "questions": [
        {
            "id": "1",
            "type": "yesno",
            "body": "Is it?",
            "exact_answer": "yes",
            "snippets": [{"text": "It is."}, {"text": "So."}],
        },
        {"id": "2", "type": "yesno", "body": "Was it?", "exact_answer": ["no"], "snippets": [{"text": "It was not."}]},
        {"id": "3", "type": "list", "body": "Which?", "snippets": []},
    ]
}
RQE_XML: Final = (
    '<RQE-med-{0}><pair pid="1" type="x" value="true"><chq> a b </chq><faq>c</faq></pair>\n'
    '<pair pid="2" value="false"><chq>d</chq><faq> e é </faq></pair></RQE-med-{0}>'
)
_NLI: Final = [
    json.dumps({"pairID": str(i), "sentence1": "p", "sentence2": f"h{i}", "gold_label": label})
    for i, label in enumerate(("entailment", "neutral", "contradiction"))
]
_ABSTRACT: Final = as_text("###123", "OBJECTIVE\tTo test .", "RESULTS\tIt did ; 5 % .", "", "###124", "METHODS\tWe did .")
_PICO: Final = as_text("###123", "AIM|A|To test .", "PATIENTS|P|Ten | eleven .", "", "###124:", "M|M| Did .")
_PAIRS: Final = as_text("a b\tb c\t1.5", "d\te\t0", " f \tg\t5")


def _reader_of(name: str, module: str, read: Callable[[Any, Path], Any], files: Files) -> tuple[Reader, ...]:
    """Return the reader of a part of the toolkit that may not be there; ``read`` gets its module."""
    try:
        there = find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it would be in
        there = False
    if not there:
        return ()
    return (Reader(name, files, lambda folder: read(import_module(module), folder), weight=0.5),)


_OBO: Final = as_text(
    "format-version: 1.4", "data-version: 1", "ontology: hp", "", "[Term]", "id: HP:0000001", "name: All", "", "[Term]",
    "id: HP:0000002", "name: b", 'synonym: "c d" EXACT []', "is_a: HP:0000001 ! All", "is_obsolete: false",
)  # fmt: skip
_CONCEPTS: Final = as_text(
    "id\teffectiveTime\tactive\tmoduleId\tdefinitionStatusId", "1\t20190131\t1\t9\t8", "2\t20190131\t0\t9\t8"
)
_DESCRIPTIONS: Final = as_text(
    "id\teffectiveTime\tactive\tmoduleId\tconceptId\tlanguageCode\ttypeId\tterm\tcaseSignificanceId",
    "11\t20190131\t1\t9\t1\ten\t900000000000013009\ta b\t7",
)
_ASSOCIATIONS: Final = as_text(
    "id\teffectiveTime\tactive\tmoduleId\trefsetId\treferencedComponentId\ttargetComponentId",
    "x\t20190131\t1\t9\t900000000000526001\t2\t1",
)
_SNOMED: Final = {
    "sct2_Concept_Full_INT_20190131.txt": _CONCEPTS,
    "sct2_Description_Full-en_INT_20190131.txt": _DESCRIPTIONS,
    "der2_cRefset_AssociationFull_INT_20190131.txt": _ASSOCIATIONS,
}
_MRCONSO: Final = as_text(
    "C0000001|ENG|P|L1|PF|S1|Y|A1||M1|D1|MSH|MH|D1|a b|0|N|256|", "C0000002|ENG|S|L2|VO|S2|N|A2||||SNOMEDCT_US|PT|2|c|9|N||"
)

#: Readers of tasks that may not be registered; each is fuzzed as soon as its task is.
_LATER: Final[tuple[tuple[tuple[str, ...], Reader], ...]] = (
    (
        ("Bio-SimLex",),
        Reader("word pairs text", {"Bio-SimLex.txt": as_text("enzyme\tcatalyst\t7.1", "CO2 gas 3.0")}, _task("Bio-SimLex")),
    ),
    (
        ("UMNSRS-sim",),
        Reader(
            "word pairs csv",
            {"UMNSRS_similarity.csv": as_text("Mean,Stdev,Term1,Term2,CUI1,CUI2", '797.5,1.5,"a, b",c,C1,C2', "4,1,d,e,C3,C4")},
            _task("UMNSRS-sim"),
        ),
    ),
    (
        ("UMNSRS-sim",),
        Reader(
            "word pairs json",
            {
                "umnsrs/sim.part.json": as_json(
                    [{"value": 6.69, "term1": "a b", "term2": "c"}, {"value": 1, "term1": "d", "term2": "e"}]
                )
            },
            _task("UMNSRS-sim"),
        ),
    ),
    (
        ("BMASS",),
        Reader(
            "BMASS",
            {
                "BMASS_all_info.txt": as_text(
                    "# L1: form-of", 'C0000001:"a"\tC0000002:"b, c",C0000003:"d"\tC0000004:"e"\tC0000005:"f"'
                ),
                "PubMed_frequent_terms.txt": as_text("a", "b c"),
            },
            _task("BMASS", setting="all-info", terms="all"),
        ),
    ),
)

TASK_READERS: Final[tuple[Reader, ...]] = (
    Reader("MedNLI jsonl", {f"mli_{s}_v1.jsonl": as_text(*_NLI) for s in ("train", "dev", "test")}, _task("MedNLI")),
    Reader(
        "MedNLI parallel",
        {
            f"{stem}.{s}": as_text(*lines)
            for s in ("train", "dev", "test")
            for stem, lines in (("s1", "ab"), ("s2", "cd"), ("labels", ("neutral", "entailment")))
        },
        _task("MedNLI"),
    ),
    Reader(
        "RQE xml",
        {
            "RQE_Train_8588_AMIA2016.xml": RQE_XML.format("train").encode(),
            "RQE_Test_302_pairs_AMIA2016.xml": RQE_XML.format("test").encode(),
        },
        _task("RQE"),
    ),
    Reader("RQE text", {f"rqe_{s}.txt": as_text("1\ttrue\ta b\tc", "2\tfalse\td\te") for s in ("train", "test")}, _task("RQE")),
    Reader("PubMed20K", {f"{s}.txt": _ABSTRACT for s in ("train", "dev", "test")}, _task("PubMed20K")),
    Reader("PICO", {f"PICO_{s}.txt": _PICO for s in ("train", "dev", "test")}, _task("PICO")),
    Reader(
        "VaccineSA join",
        {
            "TweetsAnnotation.txt": as_text("111111\tx\tPositive", "222222\tx\tNegCost", "333333\tx\tNeutral"),
            "tweets.txt": as_text("111111\tone", "222222\ttwo\ttabs", "444444\t"),
        },
        _task("VaccineSA"),
    ),
    Reader("VaccineSA joined", {"train.txt": as_text("1\tPositive\tone", "1\tNegCost\ttwo")}, _task("VaccineSA")),
    Reader(
        "CitationSA", {"train.txt": as_text("neutral\tone [C]", "positive\ttwo", "NEGATIVE\tthree\tfour")}, _task("CitationSA")
    ),
    Reader(
        "BioC xml",
        {
            "corpus.xml": as_text(
                '<C><REVIEW REVIEW_PMID="1"><CLAIM ASSERTION="YS" QUESTION="Does it?" PMID="2">It <i>does</i>.</CLAIM>',
                '<CLAIM ASSERTION="NO" QUESTION="Does it?" PMID="3">Not.</CLAIM></REVIEW></C>',
            )
        },
        _task("BioC"),
    ),
    Reader("BioC text", {"train.txt": as_text("Does it?\tIt does.\tYS", "Does it?\tNot.\tNO")}, _task("BioC")),
    *(
        Reader(
            f"BioASQ {snippets}",
            {
                "BioASQ-trainingDataset6b.json": as_json(_QUESTIONS),
                **{f"6B{i}_golden.json": as_json(_QUESTIONS) for i in range(1, 6)},
            },
            _task("BioASQ", snippets=snippets),
            weight=0.7,
        )
        for snippets in ("first", "all", "concat")
    ),
    Reader(
        "BioASQ text",
        {f"BioASQ_{s}.txt": as_text("Is it?\tIt is.\tyes", "Was it?\tNot.\tno") for s in ("train", "test")},
        _task("BioASQ"),
    ),
    Reader("ClinicalSTS", {f"clinicalSTS.{s}.txt": _PAIRS for s in ("train", "test")}, _task("ClinicalSTS", part="all")),
    Reader(
        "STS folder",
        {"STS.input.clinical-STS.txt": as_text("a\tb", "c\td", "e\tf"), "STS.gs.clinical-STS.txt": as_text("1.5", "", "3")},
        _task("ClinicalSTS"),
    ),
    Reader(
        "BIOSSES Word",
        {
            "Annotation-Pairs.xml": _table(("", "Sentence 1", "Sentence 2"), ("1 ", "a b", "c"), ("2", "d", "e")),
            "Annotator-Scores.xml": _table(("No", *"ABCDE"), ("1", *"01234"), ("2", *"44444")),
        },
        _task("BIOSSES"),
        _word_document("BIOSSES"),
    ),
    Reader(
        "BIOSSES Word bytes",
        {
            "Annotation-Pairs.docx": as_zip({"word/document.xml": _table(("", "1", "2"), ("1", "a", "b"))}),
            "Annotator-Scores.docx": as_zip({"word/document.xml": _table(("No", *"ABCDE"), ("1", *"01234"))}),
        },
        _task("BIOSSES"),
    ),
    Reader(
        "BIOSSES tsv",
        {
            "biosses.tsv": as_text(
                "sentence_id\tsentence_1\tsentence_2\tannotator_a\tannotator_b\tannotator_c\tannotator_d\tannotator_e",
                "1\ta b\tc\t0\t1\t2\t3\t4",
                "2\td\te\t4\t4\t4\t4\t4",
            )
        },
        _task("BIOSSES"),
    ),
    Reader("any JSON", {"f.json": as_json(_QUESTIONS)}, lambda folder: read_json(folder / "f.json")),
    Reader("any XML", {"f.xml": RQE_XML.format("x").encode()}, lambda folder: inner_text(read_xml(folder / "f.xml")[0])),
    Reader(
        "any Word table", {"d.xml": _table(("a", "b"))}, lambda folder: read_word_tables(folder / "d.docx"), _word_document("d")
    ),
    Reader("MR", {"rt-polarity.pos": as_text("good .", "fine"), "rt-polarity.neg": as_text("bad", "", "worse .")}, _task("MR")),
    Reader("SST2", {f"sentiment-{s}": as_text("good one \t1", "bad\t0") for s in ("train", "dev", "test")}, _task("SST2")),
    Reader("SST5", {f"sentiment-{s}": as_text("0 bad one", "4 good", "2 so") for s in ("train", "dev", "test")}, _task("SST5")),
    Reader(
        "TREC",
        {f: as_text("NUM:dist How far ?", "HUM:desc Who was ?") for f in ("train_5500.label", "TREC_10.label")},
        _task("TREC"),
    ),
    Reader(
        "MRPC",
        {
            f"msr_paraphrase_{s}.txt": as_text(
                "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String", "1\t1\t2\ta b\tc", "0\t3\t4\td\te"
            )
            for s in ("train", "test")
        },
        _task("MRPC"),
    ),
    *(
        Reader(
            name,
            {
                f: as_text(
                    "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment",
                    "1\ta b\tc\t4.5\tNEUTRAL",
                    "2\td\te\t1\tENTAILMENT",
                )
                for f in ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt")
            },
            _task(name),
        )
        for name in ("SICKEntailment", "SICKRelatedness", "SICKRelatednessCosine")
    ),
    Reader(
        "SNLI parallel",
        {
            f"{stem}.{s}": as_text(*lines)
            for s in ("train", "dev", "test")
            for stem, lines in (("s1", "ab"), ("s2", "cd"), ("labels", ("neutral", "entailment")))
        },
        _task("SNLI"),
    ),
    Reader(
        "STS13",
        {
            f"STS.{kind}.{s}.txt": as_text(*lines)
            for s in ("FNWN", "headlines", "OnWN")
            for kind, lines in (("input", ("a b\tc", "d\te")), ("gs", ("1.5", "")))
        },
        _task("STS13"),
    ),
    Reader(
        "STSBenchmark",
        {
            f"sts-{s}.csv": as_text("main-captions\tMSRvid\t2012test\t1\t2.5\ta b\tc", "main-news\tx\ty\t2\t0\td\te\tf")
            for s in ("train", "dev", "test")
        },
        _task("STSBenchmark"),
    ),
    Reader("probing", {"sentence_length.txt": as_text("tr\t0\ta b", "tr\t1\tc", "va\t0\td", "te\t1\te")}, _task("Length")),
    *(
        Reader(
            f"NER {scheme}",
            {
                f"{s}.tsv": as_text("-DOCSTART-\tO", "", "Liver\tB-Anatomy", "cells\tI-Anatomy", "grow\tO", "", "No\tO")
                for s in ("train", "devel", "test")
            },
            _task("AnatEM", scheme=scheme),
        )
        for scheme in _task_option("AnatEM", "scheme")
    ),
    Reader("diagnostics", {"diagnostics/Typos.json": b'[{"text": "a b", "changed": "a c"}]'}, _task("Typos")),
    *(reader for names, reader in _LATER if set(names) <= set(registry.task_names())),
    *_reader_of(
        "OBO", "medsenteval.words.ontologies.obo", lambda module, folder: module.read_obo(folder / "a.obo"), {"a.obo": _OBO}
    ),
    *_reader_of(
        "MRCONSO",
        "medsenteval.words.ontologies.umls",
        lambda module, folder: list(module.read_mrconso(folder / "MRCONSO.RRF")),
        {"MRCONSO.RRF": _MRCONSO},
    ),
    *_reader_of("SNOMED CT", "medsenteval.words.ontologies.rf2", lambda module, folder: module.read_release(folder), _SNOMED),
)
