"""ELMo's bidirectional language model in torch; imported only once torch is known to be there.

Character convolutions, highway layers and a projection give each word a vector without context; two stacks of projected
LSTMs, one per direction, give it context (Peters et al. 2018). Sentences run side by side as a packed sequence, in which a
step holds only the sentences that still have a word. So there is no padding whose influence would have to be masked, and
every run starts from zero states: unlike AllenNLP's stateful biLM, no batch hears an echo of the one before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence, pack_sequence, unpack_sequence

if TYPE_CHECKING:
    from medsenteval.encoders.contextual.elmo import ElmoShape

Tensor = torch.Tensor

#: Words that the character convolutions take at once; their maps need about 200 kB a word in the 5.5B model.
_WORDS_AT_ONCE: Final = 256


class BidirectionalLanguageModel:
    """The biLM of one pair of options and weights, whose arrays have the names and layouts of the official HDF5 file."""

    def __init__(self, shape: ElmoShape, arrays: Mapping[str, NDArray[np.float32]], device: str) -> None:
        self._shape = shape
        self._weights = {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
        self._device = device

    @torch.inference_mode()
    def __call__(self, characters: NDArray[np.int64], sentences: Sequence[NDArray[np.int64]]) -> list[Tensor]:
        """Return every layer's vectors, a row a word, the sentences one after the other.

        Row i of ``characters`` holds the character ids of word i; a sentence is an array of word numbers that begins and ends
        with a boundary word. Boundaries are left out of the result. Layer 0 is the word's own vector, twice.
        """
        blocks = torch.split(torch.from_numpy(characters).to(self._device), _WORDS_AT_ONCE)
        words = torch.cat([self._word_vectors(block) for block in blocks])
        own = [words[torch.from_numpy(sentence).to(self._device)] for sentence in sentences]
        forward = [own, *self._in_context(0, own)]
        backward = [own, *([each.flip(0) for each in layer] for layer in self._in_context(1, [each.flip(0) for each in own]))]
        return [
            torch.cat([torch.cat(pair, dim=1)[1:-1] for pair in zip(ahead, back, strict=True)])
            for ahead, back in zip(forward, backward, strict=True)
        ]

    def _word_vectors(self, characters: Tensor) -> Tensor:
        """Characters into a vector a word: convolutions, maximum over positions, highway layers, projection."""
        weights = self._weights
        embedded = functional.embedding(characters, weights["char_embed"]).transpose(1, 2)
        maxima = []
        for i in range(len(self._shape.filters)):
            # TensorFlow's (1, width, characters' dimension, filters) becomes torch's (filters, dimension, width).
            kernel = weights[f"CNN/W_cnn_{i}"][0].permute(2, 1, 0)
            maxima.append(functional.conv1d(embedded, kernel, weights[f"CNN/b_cnn_{i}"]).amax(dim=2))
        words = (torch.relu if self._shape.activation == "relu" else torch.tanh)(torch.cat(maxima, dim=1))
        for j in range(self._shape.n_highway):
            # The gate called carry in the file weighs the transformed word, and its complement the word itself.
            layer = f"CNN_high_{j}"
            gate = torch.sigmoid(torch.addmm(weights[f"{layer}/b_carry"], words, weights[f"{layer}/W_carry"]))
            transformed = torch.relu(torch.addmm(weights[f"{layer}/b_transform"], words, weights[f"{layer}/W_transform"]))
            words = gate * transformed + (1 - gate) * words
        return torch.addmm(weights["CNN_proj/b_proj"], words, weights["CNN_proj/W_proj"])

    def _in_context(self, direction: int, sentences: list[Tensor]) -> list[list[Tensor]]:
        """Return the vectors of each layer of one direction."""
        packed = pack_sequence(sentences, enforce_sorted=False)
        layers = []
        for layer in range(self._shape.n_layers):
            produced = self._lstm(f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell", packed)
            if self._shape.skip_connections and layer > 0:
                produced = produced + packed.data
            packed = PackedSequence(produced, *packed[1:])
            layers.append(unpack_sequence(packed))
        return layers

    def _lstm(self, name: str, packed: PackedSequence) -> Tensor:
        """Run one layer: an LSTM whose cells are clipped and whose output is projected and clipped again."""
        kernel, bias, projection = (self._weights[f"{name}/{part}"] for part in ("W_0", "B", "W_P_0"))
        # TensorFlow's gates stand in the order input, candidate, forget, output, and it adds 1 to the forget gate's bias
        # when it computes, so that the file's bias lacks it.
        bias = bias.clone()
        bias[2 * self._shape.cells : 3 * self._shape.cells] += 1.0
        sizes = packed.batch_sizes.tolist()
        cell = bias.new_zeros(sizes[0], self._shape.cells)
        hidden = bias.new_zeros(sizes[0], self._shape.projection)
        produced = []
        for words in torch.split(packed.data, sizes):
            n = len(words)
            gates = torch.addmm(bias, torch.cat([words, hidden[:n]], dim=1), kernel)
            taken, candidate, forgotten, shown = gates.chunk(4, dim=1)
            cell = torch.sigmoid(forgotten) * cell[:n] + torch.sigmoid(taken) * torch.tanh(candidate)
            cell = _clipped(cell, self._shape.cell_clip)
            hidden = _clipped((torch.sigmoid(shown) * torch.tanh(cell)) @ projection, self._shape.projection_clip)
            produced.append(hidden)
        return torch.cat(produced)


def _clipped(values: Tensor, limit: float | None) -> Tensor:
    return values if limit is None else values.clamp(-limit, limit)
