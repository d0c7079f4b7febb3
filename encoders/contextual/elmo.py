"""ELMo from AllenNLP's official files: a sentence is the mean of its words' layers.

``elmo:OPTIONS.json+WEIGHTS.hdf5`` reads the biLM of Peters et al. 2018 (original, small, 5.5B, PubMed) into our own torch
module, because no maintained package loads these files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import TokenVectors
from medsenteval.embedding.pooling import POOLINGS, pool
from medsenteval.encoders.contextual.checkpoint import choose_device, passes
from medsenteval.encoders.fingerprint import hash_state_dict
from medsenteval.encoders.model_files import check_choices, read_json, two_files
from medsenteval.encoders.static.tokens import TOKENIZERS
from medsenteval.errors import EncoderError, import_extra

#: Ids above the 256 bytes, as AllenNLP numbers them. AllenNLP adds one to every id to free 0 for padded words; there are none
#: here, so that ids are rows of the file's own table.
_SENTENCE_BEGIN, _SENTENCE_END, _WORD_BEGIN, _WORD_END, _PADDING = range(256, 261)

#: Words that a text may hold but that the model knows as the boundaries of a sentence.
_BOUNDARIES: Final = {"<S>": _SENTENCE_BEGIN, "</S>": _SENTENCE_END}

#: Tokens that run through the model at once: many texts side by side make large products, and this bounds their memory.
_TOKENS_AT_ONCE: Final = 4096
#: Words that the character convolutions take at once; their maps need about 200 kB a word in the 5.5B model.
_WORDS_AT_ONCE: Final = 256

#: Far above every size of every model; each costs time and memory before a weight is read.
_MOST: Final = 10_000
_EXPECTED: Final = "expected AllenNLP's elmo_..._options.json+elmo_..._weights.hdf5"

#: HDF5's own deflate, shuffle and checksum; others are loaded from plug-ins.
_HDF5_FILTERS: Final = frozenset({1, 2, 3})


@dataclass(frozen=True)
class ElmoShape:
    """What options.json says of the model, as far as it can change a vector."""

    characters: int
    character_dimension: int
    filters: tuple[tuple[int, int], ...]
    activation: str
    n_highway: int
    cells: int
    n_layers: int
    projection: int
    cell_clip: float
    projection_clip: float
    skip_connections: bool

    def array_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the arrays that a weights file of this shape must hold."""
        n, projection = sum(count for _, count in self.filters), self.projection
        shapes: dict[str, tuple[int, ...]] = {"char_embed": (_PADDING + 1, self.character_dimension)}
        for i, (width, count) in enumerate(self.filters):
            shapes |= {f"CNN/W_cnn_{i}": (1, width, self.character_dimension, count), f"CNN/b_cnn_{i}": (count,)}
        for j, part in product(range(self.n_highway), ("carry", "transform")):
            shapes |= {f"CNN_high_{j}/W_{part}": (n, n), f"CNN_high_{j}/b_{part}": (n,)}
        shapes |= {"CNN_proj/W_proj": (n, projection), "CNN_proj/b_proj": (projection,)}
        for direction, layer in product((0, 1), range(self.n_layers)):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes |= {f"{cell}/W_0": (2 * projection, 4 * self.cells), f"{cell}/B": (4 * self.cells,)}
            shapes[f"{cell}/W_P_0"] = (self.cells, projection)
        return shapes


@dataclass(eq=False, repr=False)
class BidirectionalLanguageModel:
    """The biLM of one pair of options and weights, whose arrays have the names and layouts of the official HDF5 file.

    Character convolutions, highway layers and a projection give each word a vector without context; two stacks of projected
    LSTMs, one per direction, give it context (Peters et al. 2018). Sentences run side by side as a packed sequence, in which a
    step holds only the sentences that still have a word. So there is no padding whose influence would have to be masked, and
    every run starts from zero states: unlike AllenNLP's stateful biLM, no batch hears an echo of the one before.
    """

    shape: ElmoShape
    weights: dict[str, Any]
    device: str

    def __call__(self, characters: NDArray[np.int64], sentences: Sequence[NDArray[np.int64]]) -> list[Any]:
        """Return every layer's vectors, a row a word, the sentences one after the other.

        Row i of ``characters`` holds the character ids of word i; a sentence is an array of word numbers that begins and ends
        with a boundary word. Boundaries are left out of the result. Layer 0 is the word's own vector, twice.
        """
        import torch

        blocks = torch.split(torch.from_numpy(characters).to(self.device), _WORDS_AT_ONCE)
        words = torch.cat([self._word_vectors(block) for block in blocks])
        own = [words[torch.from_numpy(sentence).to(self.device)] for sentence in sentences]
        forward = [own, *self._in_context(0, own)]
        backward = [own, *([each.flip(0) for each in layer] for layer in self._in_context(1, [each.flip(0) for each in own]))]
        return [
            torch.cat([torch.cat(pair, dim=1)[1:-1] for pair in zip(ahead, back, strict=True)])
            for ahead, back in zip(forward, backward, strict=True)
        ]

    def _word_vectors(self, characters: Any) -> Any:
        """Characters into a vector a word: convolutions, maximum over positions, highway layers, projection."""
        import torch
        from torch.nn import functional

        weights = self.weights
        embedded = functional.embedding(characters, weights["char_embed"]).transpose(1, 2)
        maxima = []
        for i in range(len(self.shape.filters)):
            # TensorFlow's (1, width, characters' dimension, filters) becomes torch's (filters, dimension, width).
            kernel = weights[f"CNN/W_cnn_{i}"][0].permute(2, 1, 0)
            maxima.append(functional.conv1d(embedded, kernel, weights[f"CNN/b_cnn_{i}"]).amax(dim=2))
        words = (torch.relu if self.shape.activation == "relu" else torch.tanh)(torch.cat(maxima, dim=1))
        for j in range(self.shape.n_highway):
            # The gate called carry in the file weighs the transformed word, and its complement the word itself.
            layer = f"CNN_high_{j}"
            gate = torch.sigmoid(torch.addmm(weights[f"{layer}/b_carry"], words, weights[f"{layer}/W_carry"]))
            transformed = torch.relu(torch.addmm(weights[f"{layer}/b_transform"], words, weights[f"{layer}/W_transform"]))
            words = gate * transformed + (1 - gate) * words
        return torch.addmm(weights["CNN_proj/b_proj"], words, weights["CNN_proj/W_proj"])

    def _in_context(self, direction: int, sentences: list[Any]) -> list[list[Any]]:
        """Return the vectors of each layer of one direction."""
        from torch.nn.utils.rnn import PackedSequence, pack_sequence, unpack_sequence

        packed = pack_sequence(sentences, enforce_sorted=False)
        layers = []
        for layer in range(self.shape.n_layers):
            produced = self._lstm(f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell", packed)
            if self.shape.skip_connections and layer > 0:
                produced = produced + packed.data
            packed = PackedSequence(produced, *packed[1:])
            layers.append(unpack_sequence(packed))
        return layers

    def _lstm(self, name: str, packed: Any) -> Any:
        """Run one layer: an LSTM whose cells are clipped and whose output is projected and clipped again."""
        import torch

        kernel, bias, projection = (self.weights[f"{name}/{part}"] for part in ("W_0", "B", "W_P_0"))
        # TensorFlow's gates stand in the order input, candidate, forget, output, and it adds 1 to the forget gate's bias
        # when it computes, so that the file's bias lacks it.
        bias = bias.clone()
        bias[2 * self.shape.cells : 3 * self.shape.cells] += 1.0
        sizes = packed.batch_sizes.tolist()
        cell = bias.new_zeros(sizes[0], self.shape.cells)
        hidden = bias.new_zeros(sizes[0], self.shape.projection)
        produced = []
        for words in torch.split(packed.data, sizes):
            n = len(words)
            gates = torch.addmm(bias, torch.cat([words, hidden[:n]], dim=1), kernel)
            taken, candidate, forgotten, shown = gates.chunk(4, dim=1)
            cell = torch.sigmoid(forgotten) * cell[:n] + torch.sigmoid(taken) * torch.tanh(candidate)
            cell = cell.clamp(-self.shape.cell_clip, self.shape.cell_clip)
            hidden = (torch.sigmoid(shown) * torch.tanh(cell)) @ projection
            hidden = hidden.clamp(-self.shape.projection_clip, self.shape.projection_clip)
            produced.append(hidden)
        return torch.cat(produced)


@dataclass(eq=False, repr=False)
class ElmoEncoder:
    """Splits texts into words, runs them through the model in batches of similar length and pools the words' layers.

    A text without words stands for a full stop, as in SentEval's examples.
    """

    name: str
    identity: str
    model: BidirectionalLanguageModel
    layers: str
    tokenizer: str
    pooling: str

    @property
    def dimension(self) -> int:
        return 2 * self.model.shape.projection * (self.model.shape.n_layers + 1 if self.layers == "all" else 1)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return pool(self.encode_tokens(texts), self.pooling) if texts else np.empty((0, self.dimension), dtype=np.float32)

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        sentences = [TOKENIZERS[self.tokenizer](text) or ["."] for text in texts]
        lengths = [len(sentence) for sentence in sentences]
        found = [np.empty((0, self.dimension), dtype=np.float32)] * len(texts)
        for places in passes(lengths, "cpu", most_texts=len(texts), most_tokens=_TOKENS_AT_ONCE):
            values = self._word_vectors([sentences[place] for place in places])
            ends = np.cumsum([lengths[place] for place in places])
            for place, rows in zip(places, np.split(values, ends[:-1]), strict=True):
                found[place] = rows
        return TokenVectors.of(found)

    def _word_vectors(self, sentences: list[list[str]]) -> NDArray[np.float32]:
        """Return the chosen layers of every word, the sentences one after the other."""
        import torch

        with torch.inference_mode():
            found = self.model(*_character_ids(sentences, self.model.shape.characters))
            if self.layers == "all":
                return np.asarray(torch.cat(found, dim=1).cpu())
            return np.asarray((sum(found) / len(found) if self.layers == "average" else found[int(self.layers)]).cpu())


def load(
    argument: str, layers: str = "all", tokenizer: str = "whitespace", pooling: str = "mean", device: str = "auto"
) -> ElmoEncoder:
    """Load ``elmo:OPTIONS.json+WEIGHTS.hdf5``; docs/encoders.md explains the options."""
    check_choices("elmo", tokenizer=(tokenizer, TOKENIZERS), pooling=(pooling, POOLINGS))
    options_path, weights_path = two_files(argument, "elmo", _EXPECTED)
    shape = read_options(options_path)
    check_choices("elmo", layers=(layers, ("all", "average", *map(str, range(shape.n_layers + 1)))))
    arrays = _read_weights(weights_path, shape)
    torch = import_extra("torch", "elmo:", "elmo")
    device = choose_device(device, mps=False)
    weights = {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
    identity = f"elmo-{hash_state_dict(weights)[:32]}-{shape!r}-layers={layers}-tokenizer={tokenizer}-pooling={pooling}"
    model = BidirectionalLanguageModel(shape, weights, device)
    return ElmoEncoder(weights_path.stem.removesuffix("_weights"), identity, model, layers, tokenizer, pooling)


def read_options(path: Path) -> ElmoShape:
    found = read_json(path, dict, "elmo")
    try:
        characters, lstm = found["char_cnn"], found["lstm"]
        shape = ElmoShape(
            characters=_size(characters["max_characters_per_token"]),
            character_dimension=_size(characters["embedding"]["dim"]),
            filters=tuple((_size(width), _size(count)) for width, count in characters["filters"]),
            activation=str(characters["activation"]),
            n_highway=_size(characters["n_highway"]),
            cells=_size(lstm["dim"]),
            n_layers=_size(lstm["n_layers"]),
            projection=_size(lstm["projection_dim"]),
            # As in AllenNLP, 0 and null both mean that nothing is clipped.
            cell_clip=float(lstm.get("cell_clip") or math.inf),
            projection_clip=float(lstm.get("proj_clip") or math.inf),
            skip_connections=bool(lstm["use_skip_connections"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise EncoderError(f"{path}: not the options of a character-based biLM: {what}; {_EXPECTED}") from error
    if shape.activation not in ("relu", "tanh"):
        raise EncoderError(f"{path}: the activation is {shape.activation!r}; a biLM has relu or tanh")
    widest = max((width for width, _ in shape.filters), default=_MOST)
    if not max(widest, 3) <= shape.characters:
        raise EncoderError(f"{path}: sizes that no biLM can have: {str(shape)[:500]}")
    return shape


def _size(number: Any) -> int:
    if type(number) is not int or not 1 <= number <= _MOST:
        raise ValueError(f"{number!r:.99} where a whole number from 1 to {_MOST} is expected")
    return number


def _read_weights(path: Path, shape: ElmoShape) -> dict[str, NDArray[np.float32]]:
    h5py = import_extra("h5py", "elmo:", "elmo")
    arrays: dict[str, NDArray[np.float32]] = {}
    try:
        with h5py.File(path, "r") as file:
            for name, expected in shape.array_shapes().items():
                # Links are not followed: they can lead to other files.
                links = [file.get(part, getlink=True) for part in accumulate(name.split("/"), "{}/{}".format)]
                if any(link is not None and type(link).__name__ != "HardLink" for link in links):
                    raise EncoderError(f"{path}: the array {name!r} is not stored in this file, but linked to; {_EXPECTED}")
                stored = file.get(name)
                found = getattr(stored, "shape", None)
                if found != expected:
                    what = f"no array {name!r}" if found is None else f"an array {name!r} of shape {found}"
                    raise EncoderError(f"{path}: holds {what}; its options.json promises shape {expected}")
                if not _is_plain(stored):
                    raise EncoderError(f"{path}: the array {name!r} is not stored in this file as plain numbers; {_EXPECTED}")
                arrays[name] = np.asarray(stored, dtype=np.float32)
                if not np.isfinite(arrays[name]).all():
                    raise EncoderError(f"{path}: the array {name!r} holds NaN or infinity")
    except EncoderError:
        raise
    except (OSError, RuntimeError, TypeError, ValueError, KeyError) as error:  # h5py's errors for cut and damaged files
        raise EncoderError(f"{path}: no HDF5, damaged or incomplete ({error}); {_EXPECTED}") from error
    return arrays


def _is_plain(stored: Any) -> bool:
    """Tell whether an array's numbers are all in this file, and take no code or memory of their own to be read."""
    plan = stored.id.get_create_plist()
    filters = {plan.get_filter(i)[0] for i in range(plan.get_nfilters())}
    chunk = np.prod(stored.chunks or (1,), dtype=np.float64) * stored.dtype.itemsize
    is_here = not stored.is_virtual and not stored.external and stored.dtype.kind == "f" and filters <= _HDF5_FILTERS
    # Compression reaches a thousandth; what promises more was never written and would only fill the memory. So would a
    # chunk that is larger than its array, which is unpacked whole.
    is_filled = stored.id.get_storage_size() * 1100 >= stored.nbytes and chunk <= max(stored.nbytes, 1 << 20)
    return bool(is_here and is_filled)


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
