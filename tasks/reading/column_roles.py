"""Which column of a table is what: by the names that people give them, or as the user says; never by a guess between two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from medsenteval.errors import DataError
from medsenteval.registry import name_key
from medsenteval.support.toml_files import packaged_toml

#: What the columns of a table make.
Kind = Literal["classification", "pair classification", "similarity", "word similarity", "tagging"]

_NAMES: Final = packaged_toml("medsenteval.tasks", "reading/column_names.toml")
#: What a column can be -> the names by which it is known, without case, blanks and punctuation.
COLUMN_ROLES: Final[Mapping[str, tuple[str, ...]]] = _NAMES["roles"]
_TEXT_PAIRS: Final = _NAMES["pairs"]["texts"]
_WORD_PAIRS: Final = _NAMES["pairs"]["words"]


@dataclass(frozen=True)
class Columns:
    """The kind of task that a table makes, and the column of each of its roles."""

    kind: Kind
    of: Mapping[str, str]


def infer_columns(name: str, columns: Sequence[str], given: Mapping[str, str]) -> Columns:
    """Return what each column is; ``given`` has the roles that the user named, an empty name for a role that no column has.

    Two columns that could be the same thing are an error that names both.
    """
    chosen = {role: _named(name, columns, role, column) for role, column in given.items() if column}
    refused = {role for role, column in given.items() if not column}
    keys = {name_key(column): column for column in columns}

    def candidates(role: str) -> list[str]:
        taken = set(chosen.values())
        return [keys[key] for key in COLUMN_ROLES[role] if key in keys and keys[key] not in taken]

    def infer(role: str) -> None:
        if role not in chosen and role not in refused:
            found = candidates(role)
            if len(found) > 1:
                raise DataError(f"{name}: the {role} could be {_listed(found)}; say which with {role}=COLUMN")
            chosen.update({role: found[0]} if found else {})

    if "token" in chosen or "tag" in chosen or not chosen.keys() & {"text", "text2", "label", "score"}:
        if (chosen.get("token") or candidates("token")) and (chosen.get("tag") or candidates("tag")):
            if not {"token", "tag"} & chosen.keys() and (labels := candidates("label")):
                shown = _listed([candidates("tag")[0], labels[0]])
                raise DataError(f"{name}: {shown} could both be what is asked; say tag=COLUMN to tag words, or label=COLUMN")
            for role in ("token", "tag", "sentence", "split"):
                infer(role)
            return Columns("tagging", _in_order(chosen))
        if missing := [role for role in ("token", "tag") if role not in chosen and {"token", "tag"} & chosen.keys()]:
            raise DataError(f"{name}: no column is known to be the {missing[0]}; {_ask(missing[0], columns)}")
    words = _infer_texts(name, columns, keys, chosen)
    both = [each for each in ("label", "score") if (each in chosen or candidates(each)) and each not in refused]
    told = [each for each in both if each in chosen]
    if len(both) == 2 and len(told) != 1:
        found = [chosen.get(each) or candidates(each)[0] for each in both]
        raise DataError(f"{name}: {_listed(found)} could both be what is asked; say label=COLUMN or score=COLUMN, not both")
    wanted = (told or both or [""])[0]
    if not wanted:
        raise DataError(f"{name}: no column is known to be the label or the score; {_ask('label', columns)}")
    infer(wanted)
    if wanted == "label":
        kind: Kind = "pair classification" if "text2" in chosen else "classification"
    elif "text2" in chosen:
        kind = "word similarity" if words else "similarity"
    else:
        raise DataError(
            f"{name}: a score ({chosen['score']!r}) needs pairs of texts: nothing here predicts a number from one text. "
            f"Name the second text with text2=COLUMN, or write label={chosen['score']} if its numbers are classes"
        )
    for role in ("split", "id", *(["group"] if wanted == "label" else [])):
        infer(role)
    return Columns(kind, _in_order(chosen))


def _infer_texts(name: str, columns: Sequence[str], keys: Mapping[str, str], chosen: dict[str, str]) -> bool:
    """Fill in the one or two columns of texts; return whether they are single words or terms by their names."""
    if "text2" in chosen and "text" not in chosen:
        raise DataError(f"{name}: text2 is {chosen['text2']!r}, but which column is the first text? Say text=COLUMN")
    if "text" in chosen:
        return False
    singles = [(keys[key],) for key in COLUMN_ROLES["text"] if key in keys]
    pairs = [(keys[one], keys[other]) for one, other in (*_TEXT_PAIRS, *_WORD_PAIRS) if one in keys and other in keys]
    if len(found := [*singles, *pairs]) != 1:
        if found:
            shown = " or ".join(" with ".join(map(repr, each)) for each in found)
            raise DataError(f"{name}: the text could be {shown}; say which with text=COLUMN, and text2=COLUMN for pairs")
        raise DataError(f"{name}: no column is known to be the text; {_ask('text', columns)}")
    chosen.update(zip(("text", "text2"), found[0], strict=False))
    return tuple(map(name_key, found[0])) in _WORD_PAIRS


def _named(name: str, columns: Sequence[str], role: str, column: str) -> str:
    """Return the column that a user names, in any case if only one is meant."""
    found = [each for each in columns if each == column] or [each for each in columns if name_key(each) == name_key(column)]
    if len(found) != 1:
        known = f"{'several columns have' if found else 'no column has'} this name; there are {_listed(columns)}"
        raise DataError(f"{name}: {role}={column}: {known}")
    return found[0]


def _ask(role: str, columns: Sequence[str]) -> str:
    return f"say which with {role}=COLUMN. The header names {_listed(columns)}; is the first row a header?"


def _listed(columns: Sequence[str]) -> str:
    shown = [repr(each if len(each) <= 40 else f"{each[:39]}…") for each in columns[:20]]
    return ", ".join(shown) + (f" and {len(columns) - 20} more" if len(columns) > 20 else "")


def _in_order(chosen: Mapping[str, str]) -> dict[str, str]:
    for role, column in chosen.items():
        for other, same in chosen.items():
            if role < other and column == same:
                raise DataError(f"the column {column!r} cannot be {role} and {other} at once; name another for one of them")
    return {role: chosen[role] for role in COLUMN_ROLES if role in chosen}
