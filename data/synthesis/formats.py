"""The official layouts of the data sets, with the quirks that real files have and readers must survive."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from .abstracts import Abstract
from .mentions import TaggedSentence
from .notes import Inference
from .questions import Claim, QuestionPair
from .wording import tokenise

__all__ = [
    "SYNTHETIC",
    "abstracts_tabbed",
    "bioc_xml",
    "json_document",
    "lines",
    "mednli_jsonl",
    "rqe_xml",
    "tagged_tokens",
    "word_table",
]

SYNTHETIC: Final = "Synthetic sample written by data/sample/generate.py: not patients, not papers."
_XML_HEADER: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'


def lines(rows: Iterable[str]) -> bytes:
    """Return UTF-8 text with one row per line."""
    return "".join(f"{row}\n" for row in rows).encode()


def tagged_tokens(sentences: Iterable[TaggedSentence], sentences_a_document: int) -> bytes:
    """Return token TAB tag a line, a blank line after each sentence, and a mark before each document if it has a size."""
    rows: list[str] = []
    for number, sentence in enumerate(sentences):
        if sentences_a_document and number % sentences_a_document == 0:
            rows += ["-DOCSTART-\tO", ""]
        rows += [f"{token}\t{tag}" for token, tag in sentence]
        rows.append("")
    return lines(rows)


def json_document(value: object) -> bytes:
    """Return indented JSON, non-ASCII characters as they are."""
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


def mednli_jsonl(pairs: Iterable[Inference]) -> bytes:
    """Return one JSON object per line, with parses that have the right shape and no linguistic claim."""
    return lines(
        json.dumps(
            {
                "gold_label": pair.label,
                "pairID": pair.identifier,
                "sentence1": pair.premise,
                "sentence1_binary_parse": _binary_parse(pair.premise),
                "sentence1_parse": _flat_parse(pair.premise),
                "sentence2": pair.hypothesis,
                "sentence2_binary_parse": _binary_parse(pair.hypothesis),
                "sentence2_parse": _flat_parse(pair.hypothesis),
            },
            ensure_ascii=False,
        )
        for pair in pairs
    )


def _flat_parse(text: str) -> str:
    return f"(ROOT (FRAG {_bracket_free(text)}))"


def _binary_parse(text: str) -> str:
    tokens = _bracket_free(text).split()
    return " ".join([f"( {token}" for token in tokens[:-1]] + tokens[-1:] + [")"] * (len(tokens) - 1))


def _bracket_free(text: str) -> str:
    return tokenise(text).replace("(", "-LRB-").replace(")", "-RRB-")


def rqe_xml(root: str, pairs: Iterable[QuestionPair], indented: bool) -> bytes:
    """Return question pairs; the real training file indents its texts on lines of their own, the test file does not."""
    before, after = ("\n   ", "\n") if indented else ("", "")
    parts = [f"{_XML_HEADER}<{root}>\n<!-- {SYNTHETIC} -->\n"]
    for pid, pair in enumerate(pairs, start=1):
        value = "true" if pair.entailed else "false"
        parts.append(f'<pair pid="{pid}" type="{pair.kind}" value="{value}">\n')
        parts.append(f"<chq>{before}{escape(pair.long)}{after}</chq>\n")
        parts.append(f"<faq>{before}{escape(pair.short)}{after}</faq>\n</pair>\n")
    parts.append(f"</{root}>\n")
    return "".join(parts).encode()


def bioc_xml(reviews: Iterable[tuple[str, Sequence[Claim]]], first_identifier: int) -> bytes:
    """Return reviews with the claims of their abstracts; some claims keep the line breaks of their source."""
    parts = [f"{_XML_HEADER}<ROOT>\n<!-- {SYNTHETIC} -->\n"]
    identifier = first_identifier
    for question, claims in reviews:
        parts.append(f'<REVIEW REVIEW_PMID="{identifier}">\n')
        for claim in claims:
            identifier += 1
            text = escape(claim.text)
            if identifier % 20 == 0:
                text = f"\n  {text}\n"
            elif identifier % 33 == 0:
                text = text.replace(" in ", "\nin ", 1)
            assertion = "YS" if claim.affirmed else "NO"
            parts.append(
                f'<CLAIM ASSERTION="{assertion}" PMID="{identifier}" QUESTION={quoteattr(question)} '
                f'TYPE="{claim.kind}">'
                f"{text}</CLAIM>\n"
            )
        identifier += 1
        parts.append("</REVIEW>\n")
    parts.append("</ROOT>\n")
    return "".join(parts).encode()


def abstracts_tabbed(abstracts: Iterable[Abstract]) -> bytes:
    """Return abstracts as "###id", "LABEL<TAB>sentence" rows and an empty line."""
    return lines(
        row
        for abstract in abstracts
        for row in [f"###{abstract.identifier}", *(f"{label}\t{text}" for label, text in abstract.rows), ""]
    )


_W: Final = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PACKAGE: Final = "http://schemas.openxmlformats.org/package/2006"
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006"
_STANDALONE: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_CONTENT_TYPES: Final = (
    f'{_STANDALONE}<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONSHIPS: Final = (
    f'{_STANDALONE}<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/relationships/officeDocument" Target="word/document.xml"/>'
    "</Relationships>"
)


def word_table(rows: Sequence[Sequence[str]], width: int) -> bytes:
    """Return a Word document that holds one table; a line break in a cell starts a new paragraph.

    Everything that a zip file could take from the machine is fixed, and nothing is compressed, because the
    output of zlib differs between its versions.
    """
    columns = len(rows[0])
    grid = f'<w:gridCol w:w="{width}"/>' * columns
    body = "".join(f"<w:tr>{''.join(_cell(text, width) for text in row)}</w:tr>" for row in rows)
    document = (
        f'{_STANDALONE}<w:document xmlns:w="{_W}"><w:body><w:tbl><w:tblPr><w:tblW w:w="0" w:type="auto"/></w:tblPr>'
        f"<w:tblGrid>{grid}</w:tblGrid>{body}</w:tbl><w:p/><w:sectPr/></w:body></w:document>"
    )
    parts = {"[Content_Types].xml": _CONTENT_TYPES, "_rels/.rels": _RELATIONSHIPS, "word/document.xml": document}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in parts.items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_STORED
            entry.create_system = 0
            entry.external_attr = 0
            archive.writestr(entry, text.encode())
    return buffer.getvalue()


def _cell(text: str, width: int) -> str:
    paragraphs = "".join(f"<w:p>{_runs(line)}</w:p>" for line in text.split("\n"))
    return f'<w:tc><w:tcPr><w:tcW w:w="{width}" w:type="dxa"/></w:tcPr>{paragraphs}</w:tc>'


def _runs(text: str) -> str:
    """Word breaks a paragraph into runs at will, so a long one is cut within a word here: readers must join them."""
    pieces = [text] if len(text) < 90 else [text[:45], text[45:]]
    return "".join(f'<w:r><w:t xml:space="preserve">{escape(piece)}</w:t></w:r>' for piece in pieces if piece)
