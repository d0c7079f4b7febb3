"""InferSent 1 and 2: a bidirectional LSTM over GloVe or fastText vectors, pooled by maximum (Conneau et al. 2017).

``infersent:ENCODER.pkl+VECTORS`` reads the official state dictionary (infersent1.pkl with GloVe 840B, infersent2.pkl with
fastText crawl-300d-2M), or one that ``medsenteval train-infersent`` wrote, and the word vectors that it was trained on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.encoders.contextual.checkpoint import choose_device, passes
from medsenteval.encoders.fingerprint import hash_state_dict
from medsenteval.encoders.model_files import check_choices, torch_file_fault, two_files
from medsenteval.encoders.static.converted_vectors import VectorTable, open_vectors
from medsenteval.encoders.static.tokens import CASES, TOKENIZERS, TokenisedTexts, look_up, tokenise
from medsenteval.encoders.static.vector_formats import FileOptions
from medsenteval.errors import EncoderError, import_extra

#: The words that stand before and after every sentence, by version of InferSent.
VERSIONS: Final = {"1": ("<s>", "</s>"), "2": ("<p>", "</p>")}
#: Whether the vectors must know these words.
BOUNDARIES: Final = ("required", "if-known")

#: Words whose states are held at once: each takes 16 kB in the official models.
_WORDS_AT_ONCE: Final = 8192

_EXPECTED: Final = "expected a state dictionary such as infersent1.pkl or infersent2.pkl, or one of medsenteval train-infersent"


@dataclass(frozen=True)
class Reading:
    """How texts become rows of a vector table; every field is an option of ``infersent:`` and of its training."""

    version: str = "1"
    tokenizer: str = "words"
    case: str = "exact"
    boundaries: str = "required"

    def __post_init__(self) -> None:
        check_choices("infersent", version=(self.version, VERSIONS), tokenizer=(self.tokenizer, TOKENIZERS))
        check_choices("infersent", case=(self.case, CASES), boundaries=(self.boundaries, BOUNDARIES))


class SentenceReader:
    """Texts as rows of a vector table, as InferSent reads them: split, put between boundary words, unknown words dropped.

    A text without a known word is its boundary words alone. Where the vectors lack these (allowed by ``boundaries``
    if-known only), they are left out of every text, and a text without a known word has no rows at all.
    """

    def __init__(self, table: VectorTable, where: Path, reading: Reading) -> None:
        self.dimension = int(table.matrix.shape[1])
        self._matrix, self._row_of, self._reading = table.matrix, table.row_of, reading
        words = VERSIONS[reading.version]
        rows = look_up(words, table.row_of, "exact")
        if (rows < 0).any() and reading.boundaries == "required":
            absent = " and ".join(repr(word) for word, row in zip(words, rows, strict=True) if row < 0)
            raise EncoderError(
                f"infersent: {where} has no vector for {absent}, which version {reading.version} puts around every sentence; "
                "GloVe 840B belongs to version 1, fastText crawl-300d-2M to version 2; boundaries=if-known (train-infersent: "
                "--boundaries if-known) leaves them out"
            )
        self._before, self._after = (row[row >= 0] for row in np.split(rows, 2))

    def read(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return the rows of each text, boundaries included."""
        part, rows = self._located(texts)
        found = np.split(rows[part.ids], part.offsets[1:-1]) if len(texts) else []
        return [np.concatenate([self._before, each[each >= 0], self._after]) for each in found]

    def word_vectors(self, sentences: list[NDArray[np.int32]], places: Iterable[int], device: Any) -> tuple[Any, list[int]]:
        """Return the word vectors of some of the sentences one after the other in a tensor, and the sentences' lengths."""
        import torch

        chosen = [sentences[place] for place in places]
        words = torch.from_numpy(np.asarray(self._matrix[np.concatenate(chosen)], dtype=np.float32)).to(device)
        return words, [len(each) for each in chosen]

    def coverage(self, texts: Iterable[str]) -> dict[str, float]:
        """Return the share of tokens, of distinct tokens and of texts that have a vector."""
        part, rows = self._located(texts)
        return part.coverage(rows >= 0)

    def _located(self, texts: Iterable[str]) -> tuple[TokenisedTexts, NDArray[np.int32]]:
        """Return the texts' tokens and the row of every distinct one, -1 for unknown ones; an empty text has none."""
        part = tokenise(texts, self._reading.tokenizer, empty="")
        return part, look_up(part.words, self._row_of, self._reading.case)


class InferSentEncoder:
    """A loaded InferSent model, a torch.nn.LSTM, with the reader of its word vectors."""

    def __init__(self, name: str, identity: str, lstm: Any, reader: SentenceReader, padding: str) -> None:
        self.name, self.identity = name, identity
        self.dimension = 2 * int(lstm.hidden_size)
        self.coverage = reader.coverage
        self._lstm, self._reader, self._padding = lstm, reader, padding

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import torch

        sentences = self._reader.read(texts)
        encoded = np.zeros((len(texts), self.dimension), dtype=np.float32)
        device = next(self._lstm.parameters()).device
        with torch.inference_mode():
            lengths = [len(sentence) for sentence in sentences]
            for places in passes(lengths, "cpu", most_texts=len(lengths), most_tokens=_WORDS_AT_ONCE):
                words, counts = self._reader.word_vectors(sentences, places, device)
                encoded[places] = sentence_vectors(self._lstm, words, counts).cpu().numpy()
        return np.maximum(encoded, 0) if self._padding == "zeros" else encoded


def sentence_vectors(lstm: Any, words: Any, lengths: Sequence[int]) -> Any:
    """Return a row a sentence: the maximum over its states; ``words`` holds the sentences' word vectors one after the other.

    Padding never takes part. (The original lets version 1 compare states with the zeros that pad a batch, so that there a
    sentence's vector depends on its neighbours' lengths.) A sentence of no words gets the zero vector.
    """
    import torch
    from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

    filled = [i for i, length in enumerate(lengths) if length]
    pooled = words.new_zeros(len(lengths), 2 * lstm.hidden_size)
    if not filled:
        return pooled
    counts = [lengths[i] for i in filled]
    states, _ = lstm(pack_sequence(list(torch.split(words, counts)), enforce_sorted=False))
    padded, _ = pad_packed_sequence(states, padding_value=-torch.inf)
    return pooled.index_copy(0, torch.tensor(filled, device=words.device), padded.max(dim=0).values)


def load(
    argument: str,
    version: str = "1",
    tokenizer: str = "words",
    case: str = "exact",
    boundaries: str = "required",
    padding: str = "ignored",
    device: str = "auto",
    member: str = "",
    layout: str = "",
    vocab: str = "",
    rows: str = "word",
) -> InferSentEncoder:
    """Load ``infersent:ENCODER.pkl+VECTORS``; docs/encoders.md explains the options.

    ``padding=zeros`` compares states with the zeros that pad a batch in the official code of version 1, as though each sentence
    stood beside a longer one: there a sentence's vector depends on its batch, since the longest ones of a batch are not padded.
    """
    reading = Reading(version, tokenizer, case, boundaries)
    check_choices("infersent", padding=(padding, ("ignored", "zeros")))
    weights_path, vectors_path = two_files(argument, "infersent", f"{_EXPECTED}, and the word vectors that it was trained on")
    if fault := torch_file_fault(weights_path):
        raise EncoderError(f"{weights_path}: {fault}; {_EXPECTED}")
    import_extra("torch", "infersent:", "torch")
    state = _read_state(weights_path)
    lstm = _lstm_of(state, weights_path)
    table = open_vectors(vectors_path, FileOptions(member, layout, vocab, rows))
    if table.matrix.shape[1] != lstm.input_size:
        held = f"{vectors_path} holds vectors of {table.matrix.shape[1]}"
        raise EncoderError(f"infersent: {weights_path} was trained on vectors of {lstm.input_size} numbers, {held}")
    reader = SentenceReader(table, vectors_path, reading)
    lstm = lstm.to(choose_device(device, mps=False)).eval()
    lstm.flatten_parameters()
    # The option boundaries is no part of it: where both of its values load, they give the same vectors.
    identity = (
        f"infersent-{hash_state_dict(state)[:32]}-vectors={table.sha256[:32]}"
        f"-version={version}-tokenizer={tokenizer}-case={case}-pooling=max{'-padding=zeros' * (padding == 'zeros')}"
    )
    return InferSentEncoder(weights_path.stem, identity, lstm, reader, padding)


def _read_state(path: Path) -> dict[str, Any]:
    """Return a state dictionary's tensors in float32."""
    import torch

    from medsenteval.encoders.contextual.torch_file import read_torch_file

    found = read_torch_file(path, _EXPECTED)
    is_plain = isinstance(found, dict) and all(isinstance(name, str) for name in found)
    if not is_plain or not all(isinstance(tensor, torch.Tensor) for tensor in found.values()):
        raise EncoderError(f"{path}: holds a {type(found).__name__}, not a dictionary of plain tensors; {_EXPECTED}")
    state = {name: tensor.to(torch.float32).contiguous() for name, tensor in found.items()}
    for name, tensor in state.items():
        if not torch.isfinite(tensor).all():
            raise EncoderError(f"{path}: {name} holds NaN or infinity")
    return state


def _lstm_of(state: Mapping[str, Any], path: Path) -> Any:
    """Return the bidirectional LSTM whose parameters a state dictionary holds, and nothing else."""
    import torch

    try:
        inputs, hidden = (state[f"enc_lstm.{name}"].shape[1] for name in ("weight_ih_l0", "weight_hh_l0"))
        # Made without storage: its random start would be overwritten at once.
        with torch.device("meta"):
            lstm = torch.nn.LSTM(inputs, hidden, bidirectional=True)
        torch.nn.ModuleDict({"enc_lstm": lstm}).load_state_dict(state, assign=True)
    except (KeyError, IndexError, ValueError, RuntimeError) as error:
        raise EncoderError(f"{path}: is no bidirectional LSTM of InferSent: {error}; {_EXPECTED}") from error
    return lstm
