"""ELMo from AllenNLP's official files, and ELMo from TensorFlow Hub: a sentence is the mean of its words' layers.

``elmo:OPTIONS.json+WEIGHTS.hdf5`` reads the biLM of Peters et al. 2018 (original, small, 5.5B, PubMed) into our own torch
module, because no maintained package loads these files. ``elmo:tfhub:PATH_OR_ADDRESS`` runs Google's TensorFlow 1 module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import TokenVectors
from medsenteval.embedding.pooling import POOLINGS, pool
from medsenteval.encoders.contextual.checkpoint import choose_device, passes
from medsenteval.encoders.contextual.elmo_options import EXPECTED, ElmoShape, read_options
from medsenteval.encoders.contextual.saved_model import (
    check_function,
    checked_files,
    fetched,
    import_tensorflow,
    load_saved_model,
)
from medsenteval.encoders.fingerprint import hash_files, hash_state_dict
from medsenteval.encoders.model_files import check_choices, two_files
from medsenteval.encoders.static.tokens import TOKENIZERS
from medsenteval.errors import EncoderError, import_extra

#: Ids above the 256 bytes, as AllenNLP numbers them. AllenNLP adds one to every id to free 0 for padded words; there are none
#: here, so that ids are rows of the file's own table.
_SENTENCE_BEGIN, _SENTENCE_END, _WORD_BEGIN, _WORD_END, _PADDING = range(256, 261)

#: Words that a text may hold but that the model knows as the boundaries of a sentence.
_BOUNDARIES: Final = {"<S>": _SENTENCE_BEGIN, "</S>": _SENTENCE_END}

#: Tokens that run through the model at once: many texts side by side make large products, and this bounds their memory.
_TOKENS_AT_ONCE: Final = 4096

#: HDF5's own deflate, shuffle and checksum; others are loaded from plug-ins.
_HDF5_FILTERS: Final = frozenset({1, 2, 3})
_HDF5_SIGNATURE: Final = b"\x89HDF\r\n\x1a\n"
_HUB_LAYERS: Final = {
    "all": ("word_emb", "word_emb", "lstm_outputs1", "lstm_outputs2"),
    "0": ("word_emb", "word_emb"),
    "1": ("lstm_outputs1",),
    "2": ("lstm_outputs2",),
}


@dataclass(eq=False, repr=False)
class ElmoEncoder:
    """Splits texts into words, runs them through a model in batches of similar length and pools the words' vectors.

    ``word_vectors`` takes sentences as lists of words and returns a row a word, the sentences one after the other. A text
    without words stands for a full stop, as in SentEval's examples.
    """

    name: str
    identity: str
    word_vectors: Callable[[list[list[str]]], NDArray[np.float32]]
    dimension: int
    tokenizer: str
    pooling: str

    def __post_init__(self) -> None:
        self.identity += f"-tokenizer={self.tokenizer}-pooling={self.pooling}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for places, vectors in self._batches(texts):
            rows[places] = pool(TokenVectors.of(vectors), self.pooling)
        return rows

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        found = [np.empty((0, self.dimension), dtype=np.float32)] * len(texts)
        for places, vectors in self._batches(texts):
            for place, rows in zip(places, vectors, strict=True):
                found[place] = rows
        return TokenVectors.of(found)

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[NDArray[np.float32]]]]:
        """Yield places of texts with the vectors of their words, a bounded number of words at a time."""
        sentences = [TOKENIZERS[self.tokenizer](text) or ["."] for text in texts]
        lengths = [len(sentence) for sentence in sentences]
        for places in passes(lengths, "cpu", most_texts=len(texts), most_tokens=_TOKENS_AT_ONCE):
            values = self.word_vectors([sentences[place] for place in places])
            yield places, np.split(values, np.cumsum([lengths[place] for place in places])[:-1])


def load(
    argument: str,
    layers: str = "",
    tokenizer: str = "whitespace",
    pooling: str = "mean",
    device: str = "auto",
    signature: str = "",
    output: str = "",
) -> ElmoEncoder:
    """Load ``elmo:OPTIONS.json+WEIGHTS.hdf5`` or ``elmo:tfhub:PATH_OR_ADDRESS``.

    ``layers`` is all (the default: every layer, concatenated, as in MedSentEval), average, or the number of one layer, 0 being
    the word without context. ``tokenizer`` is whitespace, the paper's protocol, or words, which splits punctuation off as the
    models' training text had it. ``pooling`` is mean or max, ``device`` auto, cpu or cuda.
    For TensorFlow Hub, ``signature`` is tokens (the default) or default, and ``output`` can name one of the module's own
    outputs (elmo, default, ...) instead of layers.
    """
    check_choices("elmo", tokenizer=(tokenizer, TOKENIZERS), pooling=(pooling, POOLINGS))
    if argument.startswith("tfhub:"):
        if device != "auto":
            raise EncoderError(f"elmo:tfhub: device is {device!r}; TensorFlow places its modules itself, leave this option out")
        place = argument.removeprefix("tfhub:")
        return _load_hub(place, layers, output, signature or "tokens", tokenizer=tokenizer, pooling=pooling)
    for option, value in (("signature", signature), ("output", output)):
        if value:
            raise EncoderError(f"elmo: {option}={value} is an option of elmo:tfhub: only; AllenNLP's files have layers")
    options_path, weights_path = two_files(argument, "elmo", EXPECTED)
    shape = read_options(options_path)
    chosen = layers or "all"
    check_choices("elmo", layers=(chosen, ("all", "average", *map(str, range(shape.n_layers + 1)))))
    arrays = _read_weights(weights_path, shape)
    torch = import_extra("torch", "elmo:", "elmo")
    from medsenteval.encoders.contextual.elmo_model import BidirectionalLanguageModel

    weights = hash_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    model = BidirectionalLanguageModel(shape, arrays, choose_device(device, mps=False))
    return ElmoEncoder(
        weights_path.stem.removesuffix("_weights"),
        f"elmo-{weights[:32]}-{shape!r}-layers={chosen}",
        partial(_layer_vectors, model, shape.characters, chosen),
        2 * shape.projection * (shape.n_layers + 1 if chosen == "all" else 1),
        tokenizer,
        pooling,
    )


def _layer_vectors(model: Any, characters: int, layers: str, sentences: list[list[str]]) -> NDArray[np.float32]:
    """Return the chosen layers of every word."""
    found = [layer.cpu().numpy() for layer in model(*_character_ids(sentences, characters))]
    if layers == "all":
        return np.concatenate(found, axis=1)
    chosen: NDArray[np.float32] = np.mean(found, axis=0) if layers == "average" else found[int(layers)]
    return chosen


def _read_weights(path: Path, shape: ElmoShape) -> dict[str, NDArray[np.float32]]:
    with open(path, "rb") as stream:
        if stream.read(len(_HDF5_SIGNATURE)) != _HDF5_SIGNATURE:
            raise EncoderError(f"{path}: not an HDF5 file; {EXPECTED}")
    h5py = import_extra("h5py", "elmo:", "elmo")
    arrays: dict[str, NDArray[np.float32]] = {}
    try:
        with h5py.File(path, "r") as file:
            for name, expected in shape.array_shapes().items():
                _check_links(path, file, name)
                stored = file.get(name)
                found = getattr(stored, "shape", None)
                if found != expected:
                    what = f"no array {name!r}" if found is None else f"an array {name!r} of shape {found}"
                    raise EncoderError(f"{path}: holds {what}; its options.json promises shape {expected}")
                _check_storage(path, stored, name)
                arrays[name] = np.asarray(stored, dtype=np.float32)
    except EncoderError:
        raise
    except (OSError, RuntimeError, TypeError, ValueError, KeyError) as error:  # h5py's errors for cut and damaged files
        raise EncoderError(f"{path}: damaged or incomplete HDF5 ({error}); is the download complete?") from error
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise EncoderError(f"{path}: the array {name!r} holds NaN or infinity")
    return arrays


def _check_links(path: Path, file: Any, name: str) -> None:
    """Refuse links on the way to an array before one is followed: they can lead to other files."""
    parts = name.split("/")
    for i in range(len(parts)):
        link = file.get("/".join(parts[: i + 1]), getlink=True)
        if link is not None and type(link).__name__ != "HardLink":
            raise EncoderError(f"{path}: the array {name!r} is not stored in this file, but linked to; {EXPECTED}")


def _check_storage(path: Path, stored: Any, name: str) -> None:
    """Refuse an array whose numbers are in another file or nowhere, or which takes code or memory of its own to be read."""
    plan = stored.id.get_create_plist()
    filters = {plan.get_filter(i)[0] for i in range(plan.get_nfilters())}
    chunk = np.prod(stored.chunks or (1,), dtype=np.float64) * stored.dtype.itemsize
    # Compression reaches a thousandth; what promises more was never written and would only fill the memory. So would a
    # chunk that is larger than its array, which is unpacked whole.
    if (
        stored.is_virtual
        or stored.external
        or stored.dtype.kind != "f"
        or not filters <= _HDF5_FILTERS
        or stored.id.get_storage_size() * 1100 < stored.nbytes
        or chunk > max(stored.nbytes, 1 << 20)
    ):
        raise EncoderError(f"{path}: the array {name!r} is not stored in this file as plain numbers; {EXPECTED}")


def _character_ids(sentences: list[list[str]], length: int) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return the character ids of the distinct words, and each sentence as word numbers between its boundaries."""
    begin, end = _BOUNDARIES
    numbers: dict[str, int] = {begin: 0, end: 1}
    numbered = [
        np.array([0, *(numbers.setdefault(word, len(numbers)) for word in sentence), 1], dtype=np.int64)
        for sentence in sentences
    ]
    ids = np.full((len(numbers), length), _PADDING, dtype=np.int64)
    ids[:, 0] = _WORD_BEGIN
    for word, row in numbers.items():
        # Bytes beyond what the model can hold are cut off, and lone surrogates left out, as AllenNLP does.
        content = [_BOUNDARIES[word]] if word in _BOUNDARIES else list(word.encode("utf-8", "ignore")[: length - 2])
        ids[row, 1 : len(content) + 1] = content
        ids[row, len(content) + 1] = _WORD_END
    return ids, numbered


def _load_hub(place: str, layers: str, output: str, signature: str, *, tokenizer: str, pooling: str) -> ElmoEncoder:
    """Load a TensorFlow 1 hub module from a folder, or from an address that tensorflow-hub resolves to one."""
    if not place:
        raise EncoderError("elmo:tfhub: needs a folder or an address: elmo:tfhub:https://tfhub.dev/google/elmo/3")
    if output and layers:
        raise EncoderError(f"elmo:tfhub: layers={layers} and output={output} exclude each other")
    chosen = layers or "all"
    check_choices("elmo:tfhub", signature=(signature, ("tokens", "default")), layers=(chosen, (*_HUB_LAYERS, "average")))
    keys = (output,) if output else ("elmo",) if chosen == "average" else _HUB_LAYERS[chosen]
    folder = fetched(place, "elmo:tfhub") if "://" in place else Path(place).expanduser()
    checked_files(folder, "elmo:tfhub")
    module = load_saved_model(folder, "elmo:tfhub")
    tensorflow = import_tensorflow("elmo:tfhub")
    function = module.signatures.get(signature)
    if function is None:
        raise EncoderError(f"elmo:tfhub: {folder} has no signature {signature!r}; it has {', '.join(module.signatures)}")
    check_function(function, folder, "elmo:tfhub")
    shapes = function.structured_outputs
    absent = [key for key in keys if key not in shapes]
    if absent:
        raise EncoderError(
            f"elmo:tfhub: {folder}, signature {signature!r}: no output {absent[0]!r}; it has {', '.join(shapes)}"
        )

    def one_length(sentences: list[list[str]]) -> NDArray[np.float32]:
        """Run sentences of one length, as words or as one string each, and give every word a row."""
        if signature == "tokens":
            lengths = tensorflow.constant([len(sentence) for sentence in sentences], dtype=tensorflow.int32)
            found = function(tokens=tensorflow.constant(sentences), sequence_len=lengths)
        else:
            (only_input,) = function.structured_input_signature[1]
            found = function(**{only_input: tensorflow.constant([" ".join(sentence) for sentence in sentences])})
        n, length = len(sentences), len(sentences[0])
        # An output of one vector a sentence is given to each of its words, from where pooling returns it unchanged.
        parts = [found[key].numpy() for key in keys]
        parts = [np.repeat(part[:, None, :], length, axis=1) if part.ndim == 2 else part for part in parts]
        joined = np.concatenate(parts, axis=2).astype(np.float32)
        if joined.shape[:2] != (n, length):
            raise EncoderError(f"elmo:tfhub: {folder} gave shape {joined.shape} for {n} sentences of {length} words")
        rows: NDArray[np.float32] = joined.reshape(n * length, joined.shape[2])
        return rows

    def word_vectors(sentences: list[list[str]]) -> NDArray[np.float32]:
        # Only sentences of one length run together: what the module makes of padding cannot matter then.
        blocks: list[NDArray[np.float32]] = [np.empty(0, dtype=np.float32)] * len(sentences)
        for length in {len(sentence) for sentence in sentences}:
            places = [i for i, sentence in enumerate(sentences) if len(sentence) == length]
            rows = one_length([sentences[i] for i in places])
            for number, place in enumerate(places):
                blocks[place] = rows[number * length : (number + 1) * length]
        return np.concatenate(blocks)

    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return ElmoEncoder(
        # An address ends in name and version, and its folder is named by a hash.
        "-".join(place.rstrip("/").split("/")[-2:]) if "://" in place else folder.name,
        f"elmo-tfhub-{hash_files(files)[:32]}-{signature}-{'+'.join(keys)}",
        word_vectors,
        one_length([["."]]).shape[1],
        tokenizer,
        pooling,
    )
