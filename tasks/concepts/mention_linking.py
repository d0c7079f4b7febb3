"""Mentions of annotated corpora as queries, in the files and under the protocol that SapBERT was published with.

Liu et al. 2021 (cambridgeltl/sapbert, evaluation/) score the files of BioSyn (Sung et al. 2020, dmis-lab/BioSyn): names are
ranked by dot product, a name is right if it shares an identifier with the mention, and of a composite mention ("a|b") every
part has to be found. What the dictionary holds decides the score, so its hash is part of the signature.

| file | lines |
|---|---|
| test_dictionary.txt, dev_dictionary.txt, train_dictionary.txt | identifier (or several: a\\|b), two bars, name |
| processed_test/\\*.concept, test/\\*.concept, or dev | document, span, type, mention, identifier, by two bars |
| test/DOCUMENT.abbr (our name) | what Ab3P prints for the document: short form, long form, precision, by a bar |
| COMETA: splits/\\*/test.csv | columns Term and General SNOMED ID, by tabs |
| MedMentions: test_query.txt | identifier, two bars, mention |
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from string import punctuation
from typing import Final

from medsenteval.contracts import Dataset, Task
from medsenteval.errors import DataMissingError
from medsenteval.support.files import clean_text
from medsenteval.tasks.concepts.concept_evaluation import Query, concept_dataset, evaluate_concepts
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task

#: Which mentions of the corpus are names in the dictionary -> its file.
_DICTIONARIES: Final = {
    "train+dev": "test_dictionary.txt",
    "train": "dev_dictionary.txt",
    "none": "train_dictionary.txt",
}
_TEXT: Final = {"case": ("lower", "as-written"), "punctuation": ("as-written", "removed"), "duplicates": ("kept", "once")}
_CORPUS: Final = {
    "mentions": tuple(_DICTIONARIES),
    "text": ("processed", "raw"),
    "part": ("test", "dev"),
    "abbreviations": ("as-written", "expanded"),
    "composites": ("kept", "left-out"),
    **_TEXT,
}
_CUILESS: Final = "cui-less"
_BEFORE_CODE: Final = re.compile(r"OMIM:|MESH:")


def plain_text(text: str, options: Mapping[str, str], keep: str = "") -> str:
    """Apply BioSyn's rules: lower case, and every run of punctuation and blanks one blank; ``keep`` is no punctuation."""
    if options["case"] == "lower":
        text = text.lower()
    if options["punctuation"] == "removed":
        removed = "".join(mark for mark in punctuation if mark not in keep)
        text = re.sub(rf"[\s{re.escape(removed)}]+", " ", text)
    return text.strip()


def expand_abbreviations(mention: str, long_forms: Mapping[str, str]) -> str:
    """Replace short forms by long ones, also next to a slash or before a comma, as BioSyn does, until nothing changes."""

    def expanded(token: str) -> str:
        if "/" in token:
            token = "/".join(long_forms.get(part, part) for part in token.split("/"))
        if token.endswith(","):
            bare = token.replace(",", "")
            return long_forms.get(bare, bare) + ","
        return long_forms.get(token, token)

    seen = {mention}
    while True:
        mention = " ".join(map(expanded, mention.split()))
        if mention in seen:  # also where two short forms stand for each other, for which BioSyn never ends
            return mention
        seen.add(mention)


#: File, line, text, and identifiers as written.
_Mention = tuple[Path, int, str, str]


def _rows(builder: DatasetBuilder, file: Path, least: int) -> Iterator[tuple[int, list[str]]]:
    for number, line in builder.filled_lines(file):
        found = [field.strip() for field in line.split("||")]
        if len(found) >= least:
            yield number, found
        else:
            builder.reject(file, number, f"{len(found)} field(s) by two bars where at least {least} are expected")


def _dictionary(builder: DatasetBuilder, file: Path) -> dict[str, list[str]]:
    """Read names with their identifiers; a name on several lines has the identifiers of all of them."""
    dictionary: dict[str, list[str]] = {}
    repeated = 0
    for number, (codes, written, *_) in _rows(builder, file, 2):
        name = plain_text(written, builder.options)
        if codes.casefold() == _CUILESS:
            continue
        if not name:
            builder.reject(file, number, "a name without a letter or digit")
            continue
        repeated += name in dictionary
        known = dictionary.setdefault(name, [])
        known.extend(code for code in codes.split("|") if code not in known)
    if repeated:
        builder.notes.append(f"{repeated:,} repeated name(s) of {file.name} are one name with all their identifiers")
    return dictionary


def _concept_mentions(builder: DatasetBuilder) -> Iterator[_Mention]:
    """Yield the mentions of BioSyn's .concept files, one file a document, with abbreviations expanded where asked for."""
    options = builder.options
    folder = builder.folder / (f"processed_{options['part']}" if options["text"] == "processed" else options["part"])
    files = sorted(folder.glob("*.concept"))
    if not files:
        raise DataMissingError(f"{builder.name}: {folder} holds no file *.concept")
    for file in files:
        long_forms = _long_forms(file.with_suffix(".abbr"), builder) if options["abbreviations"] == "expanded" else {}
        for number, (_, _, _, text, codes, *_) in _rows(builder, file, 5):
            yield file, number, expand_abbreviations(text, long_forms), codes


def _long_forms(file: Path, builder: DatasetBuilder) -> dict[str, str]:
    if not file.is_file():
        raise DataMissingError(
            f"{builder.name}: abbreviations=expanded needs {file}: save there what Ab3P prints for {file.stem}.txt"
        )
    rows = (line.split("|") for _, line in builder.lines(file))
    return {row[0].strip(): row[1].strip() for row in rows if len(row) == 3}


def _cometa_mentions(builder: DatasetBuilder) -> Iterator[_Mention]:
    file = builder.require(f"splits/{builder.options['split']}/{builder.options['part']}.csv")
    rows = builder.lines(file)
    header = next(csv.reader([next(rows, (0, ""))[1]], delimiter="\t"))
    if not {"Term", "General SNOMED ID"} <= set(header):
        raise DataMissingError(f"{file}:1: no columns Term and General SNOMED ID among {header}")
    for number, line in rows:
        fields = dict(zip(header, next(csv.reader([line], delimiter="\t"), []), strict=False))
        if fields.get("Term") and fields.get("General SNOMED ID"):
            yield file, number, fields["Term"], fields["General SNOMED ID"]
        elif line.strip():
            builder.reject(file, number, "no Term or no General SNOMED ID")


def _query_mentions(builder: DatasetBuilder) -> Iterator[_Mention]:
    file = builder.require("test_query.txt", "*query*.txt")
    return ((file, number, text, codes) for number, (codes, text, *_) in _rows(builder, file, 2))


def _read(builder: DatasetBuilder, mentions: Callable[[DatasetBuilder], Iterator[_Mention]], dictionary_file: str) -> Dataset:
    options, has_composites = builder.options, "composites" in builder.options
    dictionary = _dictionary(builder, builder.require(dictionary_file or _DICTIONARIES[options["mentions"]]))
    known = {code for codes in dictionary.values() for code in codes}
    queries: dict[str, Query] = {}
    seen: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()
    unlinked = 0
    for file, line, mention, written_codes in mentions(builder):
        if written_codes.casefold() == _CUILESS:
            continue
        codes = _BEFORE_CODE.sub("", written_codes)
        concepts = tuple(code.strip() for code in (codes.replace("+", "|") if has_composites else codes).split("|"))
        if options.get("composites") == "left-out" and len(concepts) > 1:
            continue
        if options.get("text") == "raw" and not known.issuperset(concepts):
            unlinked += 1
            continue
        text = plain_text(mention, options, keep="|")
        written = text.replace("+", "|").split("|") if has_composites else [text]
        parts = tuple(part for part in map(clean_text, written) if part)
        if not parts:
            builder.reject(file, line, f"the mention {mention!r} has no letter or digit")
            continue
        if options["duplicates"] == "once" and (parts, concepts) in seen:
            continue
        seen.add((parts, concepts))
        queries[f"{file.name}:{line}"] = Query(parts, concepts)
    if unlinked:
        builder.notes.append(f"{unlinked:,} raw mention(s) with an identifier that no name has are left out, as in BioSyn")
    return concept_dataset(builder, queries, dictionary)


def _task(
    name: str,
    options: Mapping[str, tuple[str, ...]],
    mentions: Callable[[DatasetBuilder], Iterator[_Mention]],
    dictionary: str = "",
) -> Task:
    allowed = {**options, "score": ("dot", "cosine")}
    read = partial(_read, mentions=mentions, dictionary_file=dictionary)
    return file_task("concepts", name, read, evaluate_concepts, options=allowed, protocol="linking")


_CORPORA: Final = ("NCBI-disease-linking", "BC5CDR-disease-linking", "BC5CDR-chemical-linking")
_COMETA: Final = {"split": ("stratified_general", "zeroshot_general"), "part": ("test", "dev"), **_TEXT}
TASKS: Final = {
    **{name: _task(name, _CORPUS, _concept_mentions) for name in _CORPORA},
    "COMETA": _task("COMETA", _COMETA, _cometa_mentions, "COMETA_id_sf_dictionary.txt"),
    "MedMentions-linking": _task("MedMentions-linking", _TEXT, _query_mentions, "dictionary.txt"),
}
