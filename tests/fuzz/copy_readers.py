"""Readers of copies of data sets in other layouts than the official one, each with small valid files."""

from __future__ import annotations

import io
import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from medsenteval.datasets.manifest import manifest
from medsenteval.datasets.status import examine
from tests.fuzz.reader import Reader, as_json, as_text
from tests.fuzz.task_readers import _task as read_task

__all__ = ["COPY_READERS"]

_SPLITS: Final = ("train", "dev", "test")
_PAIRS: Final = [{"sentence1": f"left {i}", "sentence2": f"right, {i}", "score": i / 2} for i in range(6)]
_RATED: Final = as_text(
    "sentence_id\tsentence_1\tsentence_2\tannotator_a\tannotator_b\tannotator_c\tannotator_d\tannotator_e",
    *(f"{i}\tleft {i}\tright {i}\t0\t1\t2\t3\t4" for i in range(5)),
)
_LABELS: Final = [2] * 5 + [4] * 4 + [1] * 3 + [0] * 2 + [3]
_NUMBERED: Final = as_text("abstract_id,label,text", *(f'{i // 4},{label},"text {i}, so"' for i, label in enumerate(_LABELS)))
_NLI: Final = as_text("premise,hypothesis,label", "a b,c,neutral", '"d, e",f,entailment', "g,h,contradiction")
_PAIR: Final = '<pair pid="{}"{}><chq> long {} </chq><faq>short</faq></pair>'
_CITATIONS: Final = as_text(
    "NEUTRAL|NEGATIVE|0.0||1142326_C1_[ 12,16-21]_NEGATIVE_ Although it   [ 12,16-21] , less.",
    "NEUTRAL|POSITIVE|0.1|benefit(NN)(0.1)|1142327_C2_[ 1]_POSITIVE_ It is [ 1] .",
    "POSITIVE\t481(389)\t702(389)\t0.8087\t0.5541\t0.6577",
    "Accuracy: 0.8400",
)
_CONLL: Final = as_text("-DOCSTART- -X- O O", "", "Liver NN I-NP B-Disease", "failure NN I-NP I-Disease", "", "No DT O O")


def _rqe(root: str, value: str) -> bytes:
    return as_text(f"<{root}>", *(_PAIR.format(i, value, i) for i in range(1, 4)), f"</{root}>")


def _questions(name: str) -> bytes:
    question = {"id": name, "type": "yesno", "body": "Is it?", "exact_answer": "yes", "snippets": [{"text": "It is."}]}
    return as_json({"questions": [question, {**question, "id": f"{name} b", "exact_answer": ["No"]}]})


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return as_text(*map(json.dumps, rows))


@cache
def _parquet() -> bytes:
    import pyarrow
    from pyarrow import parquet

    stream = io.BytesIO()
    features = {"info": {"features": {"labels": {"names": ["BACKGROUND", "METHODS"], "_type": "ClassLabel"}}}}
    table = pyarrow.Table.from_pylist([{"labels": i % 2, "text": f"text {i}"} for i in range(6)])
    parquet.write_table(table.replace_schema_metadata({"huggingface": json.dumps(features)}), stream)
    return stream.getvalue()


def _status(folder: Path) -> Any:
    return [examine(manifest(name), folder) for name in ("BIOSSES", "MedNLI")]


COPY_READERS: Final[tuple[Reader, ...]] = (
    Reader(
        "copy of BIOSSES, CSV", {"a.csv": as_text("sentence1,sentence2,score", "a b,c,4.0", '"d, e",f,2')}, read_task("BIOSSES")
    ),
    Reader("copy of BIOSSES, JSON lines", {"data/test.jsonl": _lines(_PAIRS)}, read_task("BIOSSES")),
    Reader("copy of BIOSSES, ratings", {"annotation_pairs_scores.tsv": _RATED}, read_task("BIOSSES")),
    Reader("copy of PubMed, numbers", {f"{s}.csv": _NUMBERED for s in _SPLITS}, read_task("PubMed20K")),
    Reader(
        "copy of PubMed, Parquet",
        {f"data/{s}-00000-of-00001.parquet": _parquet() for s in ("train", "validation", "test")},
        read_task("PubMed20K"),
        weight=0.3,
    ),
    Reader("copy of MedNLI", {f"{s}.csv": _NLI for s in _SPLITS}, read_task("MedNLI")),
    Reader(
        "copy of RQE",
        {
            "MEDIQA2019-Task2-RQE-TrainingSet-AMIA2016.xml": _rqe("MEDIQA2019-Task2-RQE-TrainingSet", ' value="true"'),
            "MEDIQA2019-Task2-RQE-TestSet-wLabels.xml": _rqe("MEDIQA2019-Task2-RQE-TestSet", ' value="false"'),
        },
        read_task("RQE", test="mediqa2019"),
    ),
    Reader(
        "copy of BioASQ 11b",
        {"training11b.json": _questions("t"), **{f"11B{i}_golden.json": _questions(f"g{i}") for i in range(1, 5)}},
        read_task("BioASQ"),
        weight=0.7,
    ),
    Reader(
        "copy of ClinicalSTS 2019",
        {
            "clinicalSTS2019.test.txt": as_text("a\tb", "c\td", "e\tf"),
            "clinicalSTS2019.test.gs.sim.txt": as_text("1.5", "2", "0"),
        },
        read_task("ClinicalSTS"),
    ),
    Reader("copy of CitationSA", {"rule_based_all_121818.txt": _CITATIONS}, read_task("CitationSA")),
    Reader("copy of NER, CoNLL", {f"eng.{s}.conll": _CONLL for s in _SPLITS}, read_task("NCBI-disease")),
    Reader(
        "copy of NER, JSON lines",
        {f"{s}.jsonl": _lines([{"tokens": ["Liver", "failure"], "ner_tags": ["B-Disease", "O"]}] * 2) for s in _SPLITS},
        read_task("NCBI-disease"),
    ),
    Reader("copies, status", {"BIOSSES/a.csv": _NLI, "MedNLI/train.jsonl": _lines(_PAIRS)}, _status, weight=0.2),
)
