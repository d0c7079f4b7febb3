"""A bag-of-words script as written for SentEval; only the import line differs.

    python examples/senteval_bow.py VECTORS [DATA]

VECTORS is a text file of word vectors (GloVe; word2vec and fastText with their header line), DATA the folder of the data.
"""

import os
import sys

import numpy as np

import medsenteval as senteval  # was: import senteval

PATH_TO_VEC = sys.argv[1] if len(sys.argv) > 1 else ""
PATH_TO_DATA = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(__file__), "..", "data", "sample")


def number_words(sentences):
    """Give every word of the task a number."""
    words = dict.fromkeys(word for sentence in sentences for word in sentence)
    return {word: number for number, word in enumerate(words)}


def read_vectors(path, word2id):
    """Keep the vectors of the words that occur."""
    word_vec = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            word, values = line.rstrip().split(" ", 1)
            if word in word2id:
                word_vec[word] = np.array(values.split(), dtype=float)
    return word_vec


def prepare(params, samples):
    params.word2id = number_words(samples)
    params.word_vec = read_vectors(PATH_TO_VEC, params.word2id)
    params.wvec_dim = len(next(iter(params.word_vec.values())))


def batcher(params, batch):
    embeddings = []
    for sentence in batch:
        known = [params.word_vec[word] for word in (sentence or ["."]) if word in params.word_vec]
        embeddings.append(np.mean(known, axis=0) if known else np.zeros(params.wvec_dim))
    return np.vstack(embeddings)


params_senteval = {"task_path": PATH_TO_DATA, "usepytorch": False, "kfold": 5}
params_senteval["classifier"] = {"nhid": 0, "optim": "rmsprop", "batch_size": 128, "tenacity": 3, "epoch_size": 2}

if __name__ == "__main__":
    if not PATH_TO_VEC:
        sys.exit(__doc__)
    se = senteval.engine.SE(params_senteval, batcher, prepare)
    results = se.eval(["MedNLI", "BioASQ", "ClinicalSTS", "BIOSSES"])
    print(results)
