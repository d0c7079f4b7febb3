"""What a stored result must hold: checked once, when it is read, so that tables and comparisons can count on it.

A file may come from a stranger. Every field is checked against its declared type, and ``items`` are columns of one length that
hold either texts or finite numbers. Errors name the key, as in ``metrics[0].low``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Any, Final, TypeVar

from medsenteval.contracts import SCHEMA, Metric, Result
from medsenteval.errors import DataError

T = TypeVar("T")

#: Far deeper than anything that a task keeps; deeper nesting would end in a RecursionError somewhere.
_DEEPEST: Final = 20


@dataclass(frozen=True)
class Failure:
    """A job that ended in an error, kept so that a rerun can tell it from one that was never tried."""

    task: str
    encoder: str
    signature: str
    error: str
    kind: str


def parse_outcome(text: str) -> Result | Failure:
    """Return the result or failure that a file's text holds, or raise a DataError that names the wrong key."""
    try:
        stored = json.loads(text, parse_constant=_no_number)
        # JSON can hold half of a surrogate pair, which no file and no terminal can.
        if "\\ud" in text.lower():
            json.dumps(stored, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON of a result: {error}") from error
    _require(isinstance(stored, dict), "the whole", "an object is expected")
    if stored.get("schema") != SCHEMA:
        raise DataError(f"schema: {_shown(stored.get('schema'))}, but this version of medsenteval reads {SCHEMA}")
    if "failure" in stored:
        return _filled(Failure, stored["failure"], "failure.")
    metrics = stored.get("metrics")
    _require(isinstance(metrics, list) and metrics, "metrics", "a list with at least one metric is expected")
    stored["metrics"] = tuple(_filled(Metric, metric, f"metrics[{i}].") for i, metric in enumerate(metrics))
    result = _filled(Result, {key: value for key, value in stored.items() if key != "schema"})
    names = [metric.name for metric in result.metrics]
    _require(len(set(names)) == len(names), "metrics", "each name is expected once")
    units = {metric.unit for metric in result.metrics}
    _require(units <= {"percent", "fraction"}, "metrics", f"{', '.join(sorted(units))}: units are percent and fraction")
    _require(result.headline and set(result.headline) <= set(names), "headline", "names of its metrics are expected")
    _check_items(result)
    for place in ("details", "senteval"):
        relations = getattr(result, place).get("relations", {})
        _require(
            _table_of(relations, _TYPES["Mapping[str, float]"][0]), f"{place}.relations", "objects of numbers are expected"
        )
    for name, declared in (("unknown_pairs", "tuple[str, ...]"), ("pairs", "int"), ("setting", "str"), ("score", "str")):
        if name in result.details:
            _checked(declared, result.details[name], f"details.{name}")
    return result


def _check_items(result: Result) -> None:
    """Check the columns that comparisons read: their length, what they hold, and numbers of labels."""
    columns = result.items
    texts = {"id", "first", "second", "subset", "relation"}
    numbers = {"predicted", *(metric.name for metric in result.metrics), *(["gold"] if "predicted" in columns else [])}
    for name, column in columns.items():
        kinds: set[Any] = set(map(type, column)) if isinstance(column, list) else {object}
        allowed: list[set[Any]] = [{str}, {int, float}]
        if name in texts or name in numbers or name == "fold" or name.startswith(("tp_", "fp_", "fn_")):
            allowed = [{str}] if name in texts else [{int}] if name == "fold" else [{int, float}]
        _require(any(kinds <= kind for kind in allowed), f"items.{name}", "a list of texts, or of numbers, is expected")
        _require(kinds <= {str} or all(map(_is_number, column)), f"items.{name}", "numbers must be finite")
        _require(len(column) == len(columns.get("id", ())), f"items.{name}", "as many values as ids are expected")
    runs = range(1, 1 + sum(name.startswith("tp_") for name in columns))
    complete = all(f"{kind}_{run}" in columns for run in runs for kind in ("tp", "fp", "fn"))
    _require(complete, "items", "tp_, fp_ and fn_ of each run are expected, counted from 1")
    if result.label_names and "predicted" in columns:
        labels = set(range(len(result.label_names)))
        for name in ("gold", "predicted"):
            _require(labels.issuperset(columns.get(name, ())), f"items.{name}", "numbers of labels are expected")


def _filled(kind: type[T], stored: Any, where: str = "") -> T:
    """Return a dataclass filled from a JSON object, every field checked against its declared type."""
    _require(isinstance(stored, dict), where.strip("."), "an object is expected")
    values = dict(stored)
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in values:
            values[field.name] = _checked(str(field.type), stored[field.name], where + field.name)
        else:
            _require(field.default is not MISSING or field.default_factory is not MISSING, where + field.name, "it is missing")
    unknown = sorted(values.keys() - {field.name for field in fields(kind)})  # type: ignore[arg-type]
    _require(not unknown, where + "".join(unknown[:1]), "this version knows no such key")
    return kind(**values)


def _checked(declared: str, value: Any, key: str) -> Any:
    holds, expected = _TYPES[declared]
    _require(holds(value), key, f"{expected} expected, not {_shown(value)}")
    return tuple(value) if isinstance(value, list) else value


def _require(holds: object, key: str, problem: str) -> None:
    if not holds:
        raise DataError(f"{key}: {problem}")


def _shown(value: Any) -> str:
    return repr(value)[:40] if isinstance(value, (str, int, float, type(None))) else f"a {type(value).__name__} of other things"


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _is_number(value: Any) -> bool:
    return (type(value) is float and math.isfinite(value)) or (type(value) is int and -(2**63) <= value < 2**63)


def _table_of(value: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(map(holds, value.values()))


def _is_plain(value: Any) -> bool:
    """Tell an object of finite numbers and texts that is not nested beyond reason."""
    layer: list[Any] = [value] if isinstance(value, dict) else [math.nan]
    for _ in range(_DEEPEST):
        if any(type(each) is float and not math.isfinite(each) for each in layer):
            return False
        nested = [each.values() if isinstance(each, dict) else each for each in layer if isinstance(each, (dict, list))]
        layer = [inner for each in nested for inner in each]
    return not layer


#: Declared type of a field -> what tells a stored value of it, in a program's words and in ours.
_TYPES: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "str": (lambda value: isinstance(value, str), "a text is"),
    "int": (lambda value: type(value) is int and 0 <= value < 2**63, "a whole number from 0 up is"),
    "bool": (lambda value: isinstance(value, bool), "true or false is"),
    "float": (_is_number, "a finite number is"),
    "tuple[str, ...]": (
        lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
        "a list of texts is",
    ),
    "tuple[Metric, ...]": (lambda value: isinstance(value, tuple), "metrics are"),
    "Mapping[str, float]": (
        lambda value: _table_of(value, lambda each: _is_number(each) and each >= 0),
        "an object of numbers from 0 up is",
    ),
    "Mapping[str, str]": (lambda value: _table_of(value, lambda each: isinstance(each, str)), "an object of texts is"),
    "Mapping[str, Any]": (_is_plain, f"an object of texts and finite numbers, at most {_DEEPEST} deep, is"),
}
