"""The data sets of the sample: how many rows each has, and which quirks of the real files it carries."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .abstracts import PICO_HEADINGS, mask_digits, write_abstracts
from .analogies import build_analogy_files
from .everyday import build_general_files
from .formats import abstracts_tabbed, bioc_xml, json_document, lines, mednli_jsonl, rqe_xml, tagged_tokens, word_table
from .mentions import MENTION_CORPORA, write_mentions
from .notes import write_inferences
from .ontology import ontology_files
from .opinions import write_citations, write_tweets
from .questions import Snippet, write_closed_question, write_open_question, write_question_pairs, write_reviews
from .similarity import SimilarPair, write_clinical_pairs, write_literature_pairs
from .wording import Writer
from .wordpairs import word_similarity_files

__all__ = ["build_files"]

#: Article numbers beyond any that PubMed has given out, so that none points to a real paper.
_FIRST_IDENTIFIER: Final = 900000001
_NBSP: Final = "\u00a0"


def build_files(seed: int) -> dict[str, bytes]:
    """Return the content of every file by its path; each data set has its own stream, so one can change alone."""
    files: dict[str, bytes] = {}
    for build in (_mednli, _rqe, _pubmed20k, _pico, _clinicalsa, _citationsa, _bioasq, _bioc, _clinicalsts, _biosses):
        files.update(build(seed))
    files |= word_similarity_files(seed) | _ner(seed) | build_general_files(seed) | build_analogy_files(seed)
    files |= ontology_files(seed)
    return files


def _mednli(seed: int) -> dict[str, bytes]:
    return {
        f"MedNLI/mli_{split}_v1.jsonl": mednli_jsonl(write_inferences(Writer(seed, f"MedNLI/{split}"), n_premises))
        for split, n_premises in (("train", 200), ("dev", 50), ("test", 50))
    }


def _rqe(seed: int) -> dict[str, bytes]:
    writer = Writer(seed, "RQE")
    train = write_question_pairs(writer, [("originalQ-shortQ", True, 215), ("originalQ-shortRandQ", False, 185)], patients=0.4)
    test = write_question_pairs(
        writer, [("part1", False, 16), ("part1", True, 4), ("part2", True, 50), ("part3", False, 50)], patients=0.6
    )
    # As in the real files: a short question that strips to nothing, a pair that comes back with the opposite
    # label, a repeated pair, and a line break within a test question.
    train[240] = replace(train[240], kind="originalQ-shortQ", entailed=True, short=" ")
    train[81] = replace(train[80], kind=train[81].kind, entailed=not train[80].entailed)
    train[81] = replace(train[81], kind="originalQ-shortQ" if train[81].entailed else "originalQ-shortRandQ")
    train[301] = train[300]
    test[70] = replace(test[70], short=test[70].short.replace(" ", "\n", 2))
    return {
        "RQE/RQE_Train_8588_AMIA2016.xml": rqe_xml("RQE-med-train", train, indented=True),
        "RQE/RQE_Test_302_pairs_AMIA2016.xml": rqe_xml("RQE-med-test", test, indented=False),
    }


def _pubmed20k(seed: int) -> dict[str, bytes]:
    return {
        f"PubMed20K/{split}.txt": abstracts_tabbed(
            write_abstracts(Writer(seed, f"PubMed20K/{split}"), "PubMed20K", _FIRST_IDENTIFIER + start, n_abstracts)
        )
        for split, start, n_abstracts in (("train", 0, 100), ("dev", 100, 25), ("test", 125, 25))
    }


def _pico(seed: int) -> dict[str, bytes]:
    files = {}
    for split, start, n_abstracts in (("train", 0, 100), ("dev", 100, 25), ("test", 125, 25)):
        writer = Writer(seed, f"PICO/{split}")
        rows = []
        for abstract in write_abstracts(writer, "PICO", _FIRST_IDENTIFIER + 1000 + start, n_abstracts):
            headings = {label: writer.pick_skewed(options) for label, options in PICO_HEADINGS.items()}
            rows.append(f"###{abstract.identifier}")
            rows += [f"{headings[label]}|{label}|{mask_digits(text)}" for label, text in abstract.rows]
            rows.append("")
        files[f"PICO/PICO_{split}.txt"] = lines(rows)
    return files


def _clinicalsa(seed: int) -> dict[str, bytes]:
    writer = Writer(seed, "ClinicalSA")
    tweets = [(f"4{writer.identifier(17, '0123456789')}", tweet) for tweet in write_tweets(writer)]
    annotations = [f"{identifier}\t{writer.number(1, 12)}\t{tweet.label}" for identifier, tweet in tweets]
    # Some tweets were deleted since, and the downloader does not keep the order of the annotations.
    deleted = {identifier for identifier, _ in writer.shuffled(tweets)[:9]}
    downloaded = [f"{identifier}\t{tweet.text}" for identifier, tweet in writer.shuffled(tweets) if identifier not in deleted]
    return {"ClinicalSA/TweetsAnnotation.txt": lines(annotations), "ClinicalSA/tweets.txt": lines(downloaded)}


def _citationsa(seed: int) -> dict[str, bytes]:
    citations = write_citations(Writer(seed, "CitationSA"))
    return {"CitationSA/train.txt": lines(f"{citation.label}\t{citation.text}" for citation in citations)}


def _bioasq(seed: int) -> dict[str, bytes]:
    writer = Writer(seed, "BioASQ")
    files = {"BioASQ/BioASQ-trainingDataset6b.json": json_document({"questions": _bioasq_questions(writer, 168, 72, 24)})}
    for batch in range(1, 6):
        n_affirmed = 9 if batch % 2 else 8
        questions = _bioasq_questions(writer, n_affirmed, 12 - n_affirmed, 3)
        files[f"BioASQ/6B{batch}_golden.json"] = json_document({"questions": questions})
    return files


def _bioasq_questions(writer: Writer, n_yes: int, n_no: int, n_open: int) -> list[dict[str, object]]:
    wanted = ["yes"] * n_yes + ["no"] * n_no + (["factoid", "list", "summary"] * n_open)[:n_open]
    questions = []
    for number, kind in enumerate(writer.shuffled(wanted)):
        if kind in ("yes", "no"):
            # Two questions of the training file came without a snippet.
            n_snippets = 0 if number in (40, 160) else writer.number(1, 3)
            closed = write_closed_question(writer, kind == "yes", n_snippets)
            questions.append(_bioasq_question(writer, "yesno", closed.body, list(closed.snippets), kind, closed.ideal))
        else:
            body, answers, snippet, ideal = write_open_question(writer, kind)
            questions.append(_bioasq_question(writer, kind, body, [snippet], answers or None, ideal))
    return questions


def _bioasq_question(
    writer: Writer, kind: str, body: str, snippets: list[Snippet], exact: object, ideal: str
) -> dict[str, object]:
    documents = []
    entries = []
    for snippet in snippets:
        document = f"http://www.ncbi.nlm.nih.gov/pubmed/{_FIRST_IDENTIFIER + 2000 + writer.number(0, 90000)}"
        start = writer.number(0, 900) if snippet.section == "abstract" else 0
        text = snippet.text
        if writer.chance(0.06):
            text = text.replace(" ", writer.pick(["\n", "\t", " \n"]), 1)
        documents.append(document)
        entries.append(
            {
                "document": document,
                "text": text,
                "beginSection": snippet.section,
                "endSection": snippet.section,
                "offsetInBeginSection": start,
                "offsetInEndSection": start + len(text),
            }
        )
    question: dict[str, object] = {
        "id": writer.identifier(24),
        "type": kind,
        "body": body,
        "documents": documents,
        "snippets": entries,
        "ideal_answer": [ideal],
    }
    if exact is not None:
        question["exact_answer"] = exact
    return question


def _bioc(seed: int) -> dict[str, bytes]:
    reviews = write_reviews(Writer(seed, "BIOC"), 24)
    return {"BIOC/corpus.xml": bioc_xml(reviews, _FIRST_IDENTIFIER + 500000)}


def _clinicalsts(seed: int) -> dict[str, bytes]:
    files = {}
    for split, n_pairs in (("train", 150), ("test", 100)):
        writer = Writer(seed, f"ClinicalSTS/{split}")
        rows = []
        for pair in write_clinical_pairs(writer, n_pairs):
            score = round(2 * (5 * pair.closeness + writer.jitter(0.6))) / 2
            before, after = (" ", " ") if writer.chance(0.06) else ("", "")
            rows.append(f"{before}{pair.first}{after}\t{pair.second}{after}\t{min(5.0, max(0.0, score)):g}")
        files[f"ClinicalSTS/clinicalSTS.{split}.txt"] = lines(rows)
    return files


def _biosses(seed: int) -> dict[str, bytes]:
    writer = Writer(seed, "BIOSSES")
    sentences = [["", "Sentence 1", "Sentence 2"]]
    scores = [["Sentence No", *(f"Annotator {letter}" for letter in "ABCDE")]]
    for number, pair in enumerate(write_literature_pairs(writer, 100), start=1):
        sentences.append([f"{number} ", _quirky(writer, pair.first), _quirky(writer, pair.second)])
        scores.append([str(number), *map(str, _annotate(writer, pair))])
    return {
        "BIOSSES/Annotation-Pairs.docx": word_table(sentences, 3000),
        "BIOSSES/Annotator-Scores.docx": word_table(scores, 1500),
    }


def _annotate(writer: Writer, pair: SimilarPair) -> list[int]:
    """Return the judgements of five annotators, each with a leaning of their own."""
    leanings = (0.0, 0.2, -0.2, 0.3, -0.3)
    return [min(4, max(0, round(4 * pair.closeness + leaning + writer.jitter(0.9)))) for leaning in leanings]


def _quirky(writer: Writer, text: str) -> str:
    """Add what real cells carry: blanks at the end, an empty last paragraph, a blank that does not break."""
    if writer.chance(0.08):
        text = text.replace(" ", _NBSP, 1)
    if writer.chance(0.15):
        text += " "
    if writer.chance(0.08):
        text += "\n"
    return text


def _ner(seed: int) -> dict[str, bytes]:
    """Return the corpora of named entities; JNLPBA marks its documents, the others do not."""
    return {
        f"{corpus}/{split}.tsv": tagged_tokens(
            write_mentions(Writer(seed, f"{corpus}/{split}"), corpus, n_sentences),
            sentences_a_document=8 if corpus == "JNLPBA" else 0,
        )
        for corpus in MENTION_CORPORA
        for split, n_sentences in (("train", 160), ("devel", 40), ("test", 80))
    }
