"""ELMo's options.json: the shape of the model, and the arrays that a weights file of that shape holds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

from medsenteval.encoders.model_files import read_json
from medsenteval.errors import EncoderError

#: The 256 bytes and five marks of AllenNLP's numbering.
_N_CHARACTERS: Final = 261
#: Far more than any model has; each costs time and memory before a weight is read.
_MOST_PARTS: Final = 1000
_MOST_CHARACTERS: Final = 10_000
EXPECTED: Final = "expected AllenNLP's elmo_..._options.json+elmo_..._weights.hdf5"


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
    cell_clip: float | None
    projection_clip: float | None
    skip_connections: bool

    def array_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the arrays that a weights file of this shape must hold."""
        n = sum(count for _, count in self.filters)
        shapes: dict[str, tuple[int, ...]] = {"char_embed": (_N_CHARACTERS, self.character_dimension)}
        for i, (width, count) in enumerate(self.filters):
            shapes[f"CNN/W_cnn_{i}"] = (1, width, self.character_dimension, count)
            shapes[f"CNN/b_cnn_{i}"] = (count,)
        for j in range(self.n_highway):
            for part in ("carry", "transform"):
                shapes[f"CNN_high_{j}/W_{part}"] = (n, n)
                shapes[f"CNN_high_{j}/b_{part}"] = (n,)
        shapes["CNN_proj/W_proj"] = (n, self.projection)
        shapes["CNN_proj/b_proj"] = (self.projection,)
        for direction, layer in product((0, 1), range(self.n_layers)):
            prefix = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes[f"{prefix}/W_0"] = (2 * self.projection, 4 * self.cells)
            shapes[f"{prefix}/B"] = (4 * self.cells,)
            shapes[f"{prefix}/W_P_0"] = (self.cells, self.projection)
        return shapes


def read_options(path: Path) -> ElmoShape:
    found = read_json(path, dict, "elmo")
    try:
        characters, lstm = found["char_cnn"], found["lstm"]
        shape = ElmoShape(
            characters=_whole(characters["max_characters_per_token"]),
            character_dimension=_whole(characters["embedding"]["dim"]),
            filters=tuple((_whole(width), _whole(count)) for width, count in characters["filters"]),
            activation=str(characters["activation"]),
            n_highway=_whole(characters["n_highway"]),
            cells=_whole(lstm["dim"]),
            n_layers=_whole(lstm["n_layers"]),
            projection=_whole(lstm["projection_dim"]),
            # As in AllenNLP, 0 and null both mean that nothing is clipped.
            cell_clip=float(lstm["cell_clip"]) if lstm.get("cell_clip") else None,
            projection_clip=float(lstm["proj_clip"]) if lstm.get("proj_clip") else None,
            skip_connections=bool(lstm["use_skip_connections"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise EncoderError(f"{path}: not the options of a character-based biLM: {what}; {EXPECTED}") from error
    if shape.activation not in ("relu", "tanh"):
        raise EncoderError(f"{path}: the activation is {shape.activation!r}; a biLM has relu or tanh")
    widest = max((width for width, _ in shape.filters), default=0)
    many = max(shape.n_highway, shape.n_layers, len(shape.filters))
    sound = 1 <= widest <= shape.characters and 3 <= shape.characters <= _MOST_CHARACTERS and many <= _MOST_PARTS
    if not sound or min(shape.cells, shape.projection, shape.n_layers) < 1:
        raise EncoderError(f"{path}: sizes that no biLM can have: {str(shape)[:500]}")
    return shape


def _whole(number: Any) -> int:
    if type(number) is not int:
        raise TypeError(f"{number!r} where a whole number is expected")
    return number
