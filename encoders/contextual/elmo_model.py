"""ELMo's bidirectional language model in torch; imported only once torch is known to be there.

Character convolutions, highway layers and a projection give each word a vector without context; two stacks of projected
LSTMs, one per direction, give it context (Peters et al. 2018). Sentences run side by side as in a packed sequence: sorted by
length, a step holds only the sentences that still have a word. So there is no padding whose influence would have to be
masked, and every run starts from zero states: unlike AllenNLP's stateful biLM, no batch hears an echo of the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from medsenteval.encoders.contextual.elmo_options import ElmoShape

Tensor = torch.Tensor

#: Words that the character convolutions take at once; their maps need about 200 kB a word in the 5.5B model.
_WORDS_AT_ONCE: Final = 256

#: Positions whose input gates are computed in one product; a gate row of the 5.5B model takes 64 kB.
_GATE_ROWS_AT_ONCE: Final = 1024


class BidirectionalLanguageModel(torch.nn.Module):
    """The biLM of one pair of options and weights, whose arrays have the names and layouts of the official HDF5 file."""

    def __init__(self, shape: ElmoShape, arrays: Mapping[str, NDArray[np.float32]]) -> None:
        super().__init__()
        self._shape = shape
        self._words = _WordEncoder(shape, arrays)
        self._layers = torch.nn.ModuleList(
            _ProjectedLstm(shape, arrays, direction, layer) for direction in (0, 1) for layer in range(shape.n_layers)
        )

    @torch.inference_mode()
    def forward(self, characters: NDArray[np.int64], sentences: Sequence[NDArray[np.int64]]) -> list[Tensor]:
        """Return every layer's vectors, a row a word, the sentences one after the other.

        Row i of ``characters`` holds the character ids of word i; a sentence is an array of word numbers that begins and ends
        with a boundary word. Boundaries are left out of the result. Layer 0 is the word's own vector, twice.
        """
        lengths = np.array([len(sentence) for sentence in sentences])
        order = np.argsort(-lengths, kind="stable")
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        packed_forward, packed_backward, step_sizes = _packed_places(starts[order], lengths[order])

        device = self._words.device
        words = self._words(torch.from_numpy(characters).to(device))
        flat = words[torch.from_numpy(np.concatenate(sentences)).to(device)]
        inner = np.ones(len(flat), dtype=bool)
        inner[starts] = inner[starts + lengths - 1] = False
        kept = torch.from_numpy(np.flatnonzero(inner)).to(device)

        by_direction: list[list[Tensor]] = []
        for direction, places in enumerate((packed_forward, packed_backward)):
            at = torch.from_numpy(places).to(device)
            packed = flat[at]
            outputs: list[Tensor] = []
            for number in range(self._shape.n_layers):
                produced = self._layers[direction * self._shape.n_layers + number](packed, step_sizes)
                packed = produced + packed if self._shape.skip_connections and number > 0 else produced
                unpacked = torch.empty_like(packed)
                unpacked[at] = packed
                outputs.append(unpacked[kept])
            by_direction.append(outputs)
        own = flat[kept]
        return [torch.cat([own, own], dim=1), *(torch.cat(pair, dim=1) for pair in zip(*by_direction, strict=True))]


def _packed_places(
    starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
    """Return which flat row stands at each place of the packed order, read forwards and backwards, and each step's size."""
    steps = np.arange(lengths[0])
    alive = lengths[None, :] > steps[:, None]
    step, sentence = np.nonzero(alive)
    return starts[sentence] + step, starts[sentence] + lengths[sentence] - 1 - step, alive.sum(axis=1).tolist()


class _WordEncoder(torch.nn.Module):
    """Characters into a vector a word: convolutions, maximum over positions, highway layers, projection."""

    def __init__(self, shape: ElmoShape, arrays: Mapping[str, NDArray[np.float32]]) -> None:
        super().__init__()
        self._activation = torch.relu if shape.activation == "relu" else torch.tanh
        self._n_filters = len(shape.filters)
        self._n_highway = shape.n_highway
        _hold(self, "characters", arrays["char_embed"])
        for i in range(self._n_filters):
            # TensorFlow's (1, width, characters' dimension, filters) becomes torch's (filters, dimension, width).
            _hold(self, f"filter_{i}", arrays[f"CNN/W_cnn_{i}"][0].transpose(2, 1, 0))
            _hold(self, f"filter_bias_{i}", arrays[f"CNN/b_cnn_{i}"])
        for j in range(self._n_highway):
            for part in ("carry", "transform"):
                _hold(self, f"{part}_{j}", arrays[f"CNN_high_{j}/W_{part}"].T)
                _hold(self, f"{part}_bias_{j}", arrays[f"CNN_high_{j}/b_{part}"])
        _hold(self, "projection", arrays["CNN_proj/W_proj"].T)
        _hold(self, "projection_bias", arrays["CNN_proj/b_proj"])

    @property
    def device(self) -> torch.device:
        return self.get_buffer("characters").device

    def forward(self, characters: Tensor) -> Tensor:
        return torch.cat([self._encode(block) for block in torch.split(characters, _WORDS_AT_ONCE)])

    def _encode(self, characters: Tensor) -> Tensor:
        buffer = self.get_buffer
        embedded = functional.embedding(characters, buffer("characters")).transpose(1, 2)
        maxima = [
            functional.conv1d(embedded, buffer(f"filter_{i}"), buffer(f"filter_bias_{i}")).amax(dim=2)
            for i in range(self._n_filters)
        ]
        words = self._activation(torch.cat(maxima, dim=1))
        for j in range(self._n_highway):
            # The gate called carry in the file weighs the transformed word, and its complement the word itself.
            gate = torch.sigmoid(functional.linear(words, buffer(f"carry_{j}"), buffer(f"carry_bias_{j}")))
            transformed = torch.relu(functional.linear(words, buffer(f"transform_{j}"), buffer(f"transform_bias_{j}")))
            words = gate * transformed + (1 - gate) * words
        return functional.linear(words, buffer("projection"), buffer("projection_bias"))


class _ProjectedLstm(torch.nn.Module):
    """One direction of one layer: an LSTM whose cells are clipped and whose output is projected and clipped again."""

    def __init__(self, shape: ElmoShape, arrays: Mapping[str, NDArray[np.float32]], direction: int, layer: int) -> None:
        super().__init__()
        prefix = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
        kernel, bias = arrays[f"{prefix}/W_0"], arrays[f"{prefix}/B"].copy()
        # TensorFlow's gates stand in the order input, candidate, forget, output, and it adds 1 to the forget gate's bias
        # when it computes, so that the file's bias lacks it.
        bias[2 * shape.cells : 3 * shape.cells] += 1.0
        _hold(self, "input_kernel", kernel[: shape.projection])
        _hold(self, "recurrent_kernel", kernel[shape.projection :])
        _hold(self, "bias", bias)
        _hold(self, "state_projection", arrays[f"{prefix}/W_P_0"])
        self._cell_clip = shape.cell_clip
        self._projection_clip = shape.projection_clip

    def forward(self, packed: Tensor, step_sizes: Sequence[int]) -> Tensor:
        recurrent, projection = self.get_buffer("recurrent_kernel"), self.get_buffer("state_projection")
        cell = packed.new_zeros(step_sizes[0], projection.shape[0])
        hidden = packed.new_zeros(step_sizes[0], projection.shape[1])
        produced: list[Tensor] = []
        for gates in self._input_gates(packed, step_sizes):
            n = len(gates)
            taken, candidate, forgotten, shown = (gates + hidden[:n] @ recurrent).chunk(4, dim=1)
            cell = torch.sigmoid(forgotten) * cell[:n] + torch.sigmoid(taken) * torch.tanh(candidate)
            cell = _clipped(cell, self._cell_clip)
            hidden = _clipped((torch.sigmoid(shown) * torch.tanh(cell)) @ projection, self._projection_clip)
            produced.append(hidden)
        return torch.cat(produced)

    def _input_gates(self, packed: Tensor, step_sizes: Sequence[int]) -> Iterator[Tensor]:
        """Yield each step's share of the gates that comes from the input, computed for many steps in one product."""
        first = 0
        while first < len(step_sizes):
            last, rows = first, 0
            while last < len(step_sizes) and (rows == 0 or rows + step_sizes[last] <= _GATE_ROWS_AT_ONCE):
                rows += step_sizes[last]
                last += 1
            block, packed = packed[:rows], packed[rows:]
            gates = torch.addmm(self.get_buffer("bias"), block, self.get_buffer("input_kernel"))
            yield from torch.split(gates, list(step_sizes[first:last]))
            first = last


def _clipped(values: Tensor, limit: float | None) -> Tensor:
    return values if limit is None else values.clamp(-limit, limit)


def _hold(module: torch.nn.Module, name: str, array: NDArray[np.float32]) -> None:
    """Keep an array as a buffer: it moves with the module to its device and is never trained."""
    module.register_buffer(name, torch.from_numpy(np.ascontiguousarray(array)))
