"""The types that tasks, encoders and the engine share; nothing else crosses from one room to another."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any, Final, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from medsenteval.settings import Settings

#: Raised whenever the meaning of a stored field changes.
SCHEMA: Final = 1


@runtime_checkable
class Encoder(Protocol):
    """Anything that turns texts into one float32 row each.

    ``identity`` names everything that can change a vector (weights hash, pooling, case, maximum length, dtype); of an encoder
    with an empty identity nothing may be cached. What else an encoder may have:

    ``prepare(texts)``, as in SentEval, if it learns from a task's texts; what it learns is not part of its identity.
    ``for_use(task, role)``, if it treats queries and documents, or single tasks, otherwise than other texts: the Encoder to
    use for a role of "", "query" or "document"; its own identity names all of them.
    ``sees``, what it makes of a text (prompt, max_length, pooling, dtype), and ``token_counts(texts)``, the tokens of each
    text before it is cut to ``max_length``. ``trained_on``, names of tasks -> "yes" or "no".
    """

    name: str

    @property
    def identity(self) -> str: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a finite (n, dim) matrix whose row i belongs to text i."""
        ...


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """Token vectors of several texts in one matrix: text i owns rows ``offsets[i]`` to ``offsets[i + 1]``."""

    values: NDArray[np.float32]
    offsets: NDArray[np.intp]
    known: NDArray[np.bool_]

    @classmethod
    def of(cls, texts: Sequence[NDArray[np.float32]]) -> TokenVectors:
        """Join the vectors of several texts, all of whose tokens are known."""
        values = np.concatenate(texts) if texts else np.empty((0, 0), dtype=np.float32)
        return cls(values, np.cumsum([0, *map(len, texts)], dtype=np.intp), np.ones(len(values), dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.offsets) - 1


@runtime_checkable
class TokenEncoder(Encoder, Protocol):
    """An encoder whose sentence vector is pooled from token vectors (static vectors, ELMo, BERT, Flair)."""

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors: ...


def has_word_vectors(encoder: Encoder) -> TypeGuard[TokenEncoder]:
    """Return whether a word has the same vector in every text, so that a term is a bag of word vectors; these say so."""
    return isinstance(encoder, TokenEncoder) and bool(getattr(encoder, "context_free", False))


@dataclass(frozen=True)
class RejectedRow:
    """A row that was not read, with the place and the reason."""

    file: str
    line: int | None
    item: str
    reason: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.item}: {self.reason}" if self.item else f"{place}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Split:
    """Examples as plain columns of equal length."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    texts2: tuple[str, ...] | None = None
    labels: NDArray[np.int64] | None = None
    scores: NDArray[np.float64] | None = None
    groups: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("texts", "texts2", "labels", "scores", "groups"):
            column = getattr(self, name)
            if column is not None and len(column) != len(self.ids):
                raise ValueError(f"column {name!r} has {len(column)} rows, ids has {len(self.ids)}")

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> Split:
        """Return the examples with these row numbers, in this order."""
        at = np.asarray(rows, dtype=np.intp)
        # Those of subclasses have columns of their own.
        columns = {each.name: getattr(self, each.name) for each in fields(Split)}
        for name, column in columns.items():
            if column is not None:
                columns[name] = column[at] if isinstance(column, np.ndarray) else tuple(column[row] for row in at.tolist())
        return Split(**columns)

    def all_texts(self) -> Iterator[str]:
        yield from self.texts
        yield from self.texts2 or ()


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set as read: its splits, what was rejected, and what differs from the published description.

    ``edition`` names another release than that of the publication (another year of a challenge); it is part of the protocol.
    """

    name: str
    splits: Mapping[str, Split]
    label_names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    rejected: tuple[RejectedRow, ...] = ()
    notes: tuple[str, ...] = ()
    synthetic: bool = False
    incomplete: bool = False
    edition: str = ""

    def __len__(self) -> int:
        return sum(map(len, self.splits.values()))

    @property
    def separator(self) -> str | None:
        """What splits texts into SentEval's tokens: white space, or each single blank under the option ``legacy``."""
        return " " if self.options.get("legacy") == "yes" else None

    def all_texts(self) -> Iterator[str]:
        """Yield every text of every split, both sides, repetitions included."""
        for split in self.splits.values():
            yield from split.all_texts()

    def for_encoder(self, encoder: Encoder) -> Dataset:
        """Return the data set as this encoder is asked; one whose texts depend on the encoder's vocabulary overrides it."""
        return self

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that can change a score: texts, targets, groups, their order and their splits."""
        digest = hashlib.sha256()

        def feed(text: str) -> None:
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "little") + encoded)

        for label in self.label_names:
            feed(label)
        for name, split in self.splits.items():
            feed(name)
            for column in (split.texts, split.texts2, split.groups, split.labels, split.scores):
                feed("absent" if column is None else f"column of {len(column)}")
                if isinstance(column, np.ndarray):
                    digest.update(column.tobytes())
                else:
                    for text in column or ():
                        feed(text)
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Embeddings:
    """The vectors of a data set's distinct texts: one matrix, and the row of each text in it.

    ``n_encoded`` of them were not in the cache; ``tokens`` are those of each text, 0 where the encoder does not say.
    ``second`` has the rows of second texts where these have a role, and so vectors, of their own.
    """

    matrix: NDArray[np.float32]
    row_of: Mapping[str, int]
    n_encoded: int = 0
    tokens: NDArray[np.uint32] | None = None
    second: Mapping[str, int] | None = None

    def rows(self, texts: Sequence[str]) -> NDArray[np.intp]:
        return np.fromiter(map(self.row_of.__getitem__, texts), dtype=np.intp, count=len(texts))

    def rows2(self, texts: Sequence[str]) -> NDArray[np.intp]:
        """Return the rows of second texts."""
        return self.rows(texts) if self.second is None else replace(self, row_of=self.second).rows(texts)

    @property
    def zero_rows(self) -> NDArray[np.bool_]:
        """Which rows are all zero: texts of which the encoder knows nothing."""
        zero: NDArray[np.bool_] = np.logical_not(np.any(self.matrix, axis=1))
        return zero


@dataclass(frozen=True)
class Metric:
    """One score at full precision with its interval and what a constant answer would score.

    ``unit`` is "percent" for accuracy and F1 and "fraction" for correlations, as SentEval returns them. A higher value is the
    better one, whatever the metric.
    """

    name: str
    value: float
    low: float
    high: float
    baseline: float
    unit: str
    n: int

    @property
    def mark(self) -> str:
        """ "!" of a score not above the baseline, "?" of one whose interval reaches down to it, else nothing."""
        if not self.value > self.baseline:  # NaN is above nothing
            return "!"
        return "" if self.low > self.baseline else "?"


@dataclass(frozen=True, eq=False)
class Scores:
    """What a task's evaluation returns; ``senteval`` is the dictionary that SentEval's ``SE.eval`` would return for it."""

    metrics: tuple[Metric, ...]
    n_train: int
    n_test: int
    items: Mapping[str, Sequence[Any]]
    senteval: Mapping[str, Any]
    details: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def metric(self, name: str) -> Metric:
        return next(metric for metric in self.metrics if metric.name == name)


@dataclass(frozen=True, eq=False)
class Task:
    """One data set and how it is evaluated; adapters in ``medsenteval.tasks`` are values of this type.

    ``read`` raises DataMissingError when the files are not there. ``metrics`` are those of the paper's table; a
    ``positive_label`` adds F1 to what is computed. ``options`` are reading options and their values, the default first.
    ``training`` holds MedSentEval's overrides of SentEval's training loop for this task.
    ``pair_features`` names how two sentence vectors become one row of probe input (``medsenteval.probes.features``).
    ``roles`` are those of the first and the second texts: "query", "document", or "" where texts are on equal terms.
    ``sorted_by_second`` says that the original sorts pairs by the second text before it trains.
    ``row_options`` names the options that choose rows: published counts hold for their defaults only, and those of another
    edition of the data set stand in ``edition_counts``.
    ``protocol_options`` names the options that are part of the protocol's name, because their scores do not compare.
    ``uses_probe`` is False where no shared probe is trained on the vectors (similarities, analogies, taggers of their own).
    ``own_data`` says which column is what in a user's own table; such a task looks at no data folder. Empty for all others.
    ``always_grouped`` keeps rows of one group in one fold, whatever the settings say.

    >>> isinstance(medsenteval.registry.task("RQE"), medsenteval.Task)
    True
    """

    name: str
    version: str
    family: str
    protocol: str
    metrics: tuple[str, ...]
    folders: tuple[str, ...]
    read: Callable[[Path, Mapping[str, str]], Dataset]
    evaluate: Callable[[Task, Dataset, Embeddings, Settings], Scores]
    citation: str
    licence: str
    access: str
    obtain: str
    labels: tuple[str, ...] = ()
    positive_label: str | None = None
    published_counts: Mapping[str, int] = field(default_factory=dict)
    edition_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    senteval_name: str = ""
    groups_are: str = ""
    row_options: tuple[str, ...] = ()
    protocol_options: tuple[str, ...] = ()
    uses_probe: bool = True
    pair_features: str = "u,v,|u-v|,u*v"
    sorted_by_second: bool = False
    roles: tuple[str, str] = ("", "")
    own_data: str = ""
    always_grouped: bool = False

    def protocol_under(self, settings: Settings) -> str:
        """Return the protocol's full name; scores under different names are not comparable."""
        name = self.protocol
        if self.protocol_options:
            given = settings.task_options.get(self.name, {})
            chosen = {option: given.get(option, self.options[option][0]) for option in self.protocol_options}
            name = "-".join(option if value == "yes" else value for option, value in chosen.items() if value != "no")
        if not self.uses_probe:
            return name if settings.similarity is None or name != "cosine" else OWN_SIMILARITY
        if settings.few_shot == "mteb":
            return settings.part_of_training
        name = name if name == "split" else f"{name}-{settings.folds}"
        if settings.grouped or self.always_grouped:
            name += f"-grouped-by-{self.groups_are.replace(' ', '-')}"
        if settings.grid != "senteval":
            name += "-wide-grid"
        return f"{name}-{settings.part_of_training}" if settings.part_of_training else name

    def protocol_of(self, dataset: Dataset, settings: Settings) -> str:
        """Return the protocol's full name on a data set, which says of which edition it is."""
        return f"{self.protocol_under(settings)}{f'-{dataset.edition}' if dataset.edition else ''}"


#: The protocol under which a caller's own similarity replaces the cosine.
OWN_SIMILARITY: Final = "own-similarity"
#: Stand behind scores that are to be read with care, with the notes below the table.
LITTLE_KNOWN_NOTE: Final = "‡ the encoder knows less than half of this task's words"
CUT_NOTE: Final = "§ more than 1 % of the texts were longer than the encoder reads, and cut"
TRAINED_NOTE: Final = "¶ the encoder was trained on this task's data, as declared"
MARK_NOTES: Final = {note[0]: note for note in (LITTLE_KNOWN_NOTE, CUT_NOTE, TRAINED_NOTE)}


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """One encoder on one task: scores at full precision, per-item predictions, provenance.

    ``signature`` is one line that holds everything that can move the score; two results are comparable when theirs differ
    only in the encoder. ``headline`` names the metrics that the paper's table shows. ``timings`` are seconds for each phase,
    ``performance`` is what they were spent on, ``made`` the time (UTC). ``input`` says what the encoder saw: texts cut at its
    ``max_length``, the share of tokens lost, prompts, pooling, dtype, and the bytes of a vector.
    """

    task: str
    encoder: str
    encoder_identity: str
    dimension: int
    metrics: tuple[Metric, ...]
    headline: tuple[str, ...]
    n_train: int
    n_test: int
    protocol: str
    probe: str
    seed: int
    signature: str
    synthetic: bool
    notes: tuple[str, ...]
    rejected: tuple[str, ...]
    files: tuple[str, ...]
    label_names: tuple[str, ...]
    coverage: Mapping[str, float]
    timings: Mapping[str, float]
    performance: Mapping[str, float]
    versions: Mapping[str, str]
    items: Mapping[str, Any]
    details: Mapping[str, Any]
    senteval: Mapping[str, Any]
    made: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)

    def metric(self, name: str) -> Metric:
        return next(metric for metric in self.metrics if metric.name == name)

    def __repr__(self) -> str:
        scores = ", ".join(f"{each.name} {each.value:.4g} [{each.low:.4g}, {each.high:.4g}]" for each in self.metrics)
        return f"<Result of {self.encoder} on {self.task}: {scores}, n {self.n_test:,}{', synthetic data' * self.synthetic}>"

    @property
    def marks(self) -> str:
        """The marks behind this score: few words known, more than 1 % of the texts cut, trained on the task's data."""
        share = self.input.get("texts_cut_share")
        cut = isinstance(share, float) and share > 0.01
        return "".join(compress(MARK_NOTES, (self.coverage.get("tokens", 1.0) < 0.5, cut, self.trained_on == "yes")))

    @property
    def trained_on(self) -> str:
        """Whether the encoder was trained on this task's data: "yes" and "no" as it declares, else "unknown"."""
        declared = self.input.get("trained_on")
        return declared if declared in ("yes", "no") else "unknown"

    @property
    def cautions(self) -> list[str]:
        """What the score is to be read with, for tables that say it in words."""
        return [MARK_NOTES[mark][2:] for mark in self.marks] + [self.on_a_part] * bool(self.on_a_part)

    @property
    def on_a_part(self) -> str:
        """What is to be said of a score on fewer rows than the data set has, empty for a score on all of them."""
        parts = [part for part in self.signature.split("|") if part.startswith("limit=") or part == "incomplete"]
        return f"scored on a part of the data ({', '.join(parts)}): no score for publication" if parts else ""

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}
