"""Names of tasks and encoders, resolved lazily: a module is imported when its name is asked for, not before.

Third parties add theirs through the entry-point groups ``medsenteval.tasks`` (an object of type Task) and
``medsenteval.encoders`` (a callable ``load(argument, **options)`` that returns an Encoder).
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from medsenteval.catalogue import ENCODER_KINDS, TASK_GROUPS, TaskTable
from medsenteval.contracts import Encoder, Task
from medsenteval.errors import EncoderError, SettingsError, UnknownNameError

if TYPE_CHECKING:
    from medsenteval.encoders.recipes import Recipe

__all__ = [
    "canonical_task_name",
    "encoder_kinds",
    "encoder_loader",
    "encoder_name",
    "load_encoder",
    "name_key",
    "parse_encoder_spec",
    "resolve_name",
    "select_tasks",
    "task",
    "task_names",
]

_TASKS: Final[TaskTable] = {name: entry for table in TASK_GROUPS.values() for name, entry in table.items()}
_GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "all": tuple(_TASKS),
    **{group: tuple(table) for group, table in TASK_GROUPS.items()},
}


@dataclass(frozen=True)
class _Names:
    """Spellings of one kind of thing, compared without case, blanks or punctuation; ``known`` shortens a long list."""

    what: str
    canonical: Mapping[str, str]
    known: str = ""

    @staticmethod
    def key(name: str) -> str:
        return re.sub(r"[\W_]+", "", name).casefold()

    def resolve(self, name: str) -> str:
        found = self.canonical.get(self.key(name))
        if found is not None:
            return found
        near = difflib.get_close_matches(self.key(name), self.canonical, n=3, cutoff=0.6)
        suggestions = list(dict.fromkeys(self.canonical[key] for key in near))
        hint = f"did you mean {' or '.join(map(repr, suggestions))}? " if suggestions else ""
        known = self.known or ", ".join(dict.fromkeys(self.canonical.values()))
        raise UnknownNameError(f"no {self.what} is called {name!r}; {hint}Known: {known}")


def name_key(name: str) -> str:
    """Return what two spellings of one name have in common: neither case, blanks nor punctuation."""
    return _Names.key(name)


def resolve_name(what: str, name: str, canonical: Mapping[str, str]) -> str:
    """Look a spelling up among keys made by ``name_key``; an unknown one suggests the nearest."""
    return _Names(what, canonical).resolve(name)


def _plugins(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


def _import(reference: str) -> Any:
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def _task_spellings() -> _Names:
    canonical: dict[str, str] = {}
    for name in _plugins("medsenteval.tasks"):
        canonical[_Names.key(name)] = name
    # Built-in names win over plug-ins, so that a score called MedNLI is always the same MedNLI.
    for name, (_, aliases) in _TASKS.items():
        canonical.update({_Names.key(spelling): name for spelling in (name, *aliases)})
    return _Names("task", canonical)


def task_names() -> tuple[str, ...]:
    """Every known task: those of the groups in order, then those of plug-ins."""
    return tuple(dict.fromkeys([*_TASKS, *_plugins("medsenteval.tasks")]))


def canonical_task_name(name: str) -> str:
    """Return a task's own name for this spelling of it, without importing the task."""
    return _task_spellings().resolve(name)


def task(name: str) -> Task:
    """Return the task of this name or alias, in any case; an unknown name suggests the nearest known ones."""
    canonical = canonical_task_name(name)
    found = _import(_TASKS[canonical][0]) if canonical in _TASKS else _plugins("medsenteval.tasks")[canonical].load()
    if not isinstance(found, Task):
        raise SettingsError(f"the task {canonical!r} is a {type(found).__name__}, not a medsenteval Task")
    return found


def select_tasks(selection: str | Iterable[str | Task]) -> list[Task]:
    """Resolve "sentence", "MedNLI,RQE", ["sentence", MY_TASK] and the like to tasks, each once, in the order given."""
    spellings = _task_spellings()
    chosen: dict[str, Task] = {}
    for part in selection.split(",") if isinstance(selection, str) else selection:
        if isinstance(part, Task):  # one that no package has made known by name
            chosen.setdefault(part.name, part)
        elif stripped := part.strip():
            for name in map(spellings.resolve, _GROUPS.get(stripped.casefold(), (stripped,))):
                if name not in chosen:
                    chosen[name] = task(name)
    if not chosen:
        raise SettingsError(f"no task was selected by {selection!r}; try 'sentence' or a task's name")
    return list(chosen.values())


def encoder_kinds() -> dict[str, str]:
    """Every kind of encoder that a specification can name, with what its argument is."""
    kinds = dict.fromkeys(_plugins("medsenteval.encoders"), "from a plug-in")
    return kinds | {name: argument for name, (_, argument) in ENCODER_KINDS.items()}


def encoder_loader(kind: str) -> Callable[..., Encoder]:
    """Return the function that loads this kind of encoder, importing its module only now."""
    canonical = _Names("encoder", {_Names.key(name): name for name in encoder_kinds()}).resolve(kind)
    if canonical in ENCODER_KINDS:
        loader: Callable[..., Encoder] = _import(ENCODER_KINDS[canonical][0])
    else:
        loader = _plugins("medsenteval.encoders")[canonical].load()
    return loader


def encoder_name(name: str) -> tuple[str, Recipe | None]:
    """Return the canonical name of a kind of encoder, or of a published encoder with its recipe."""
    kinds = {_Names.key(kind): kind for kind in encoder_kinds()}
    # Kinds win over recipes, so that a specification means the same whatever recipes are added.
    if (kind := kinds.get(_Names.key(name))) is not None:
        return kind, None
    recipes: Mapping[str, Recipe] = _import("medsenteval.encoders.recipes:recipes")()
    spellings = {_Names.key(alias): found.name for found in recipes.values() for alias in (found.name, *found.aliases)}
    known = f"{', '.join(kinds.values())}, and the published encoders that `medsenteval encoders` lists"
    canonical = _Names("encoder", spellings | kinds, known).resolve(name)
    return canonical, recipes[canonical]


def parse_encoder_spec(spec: str) -> tuple[str, str, dict[str, str]]:
    """Split ``kind:argument,option=value,...`` into its parts; commas inside the argument stay where no ``=`` follows."""
    kind, _, rest = spec.partition(":")
    if "," in kind:
        kind, _, options = kind.partition(",")
        rest = "," + options + (":" + rest if rest else "")
    options_found: dict[str, str] = {}
    while match := re.search(r",([A-Za-z_][\w-]*)=([^,]*)$", rest):
        options_found[match[1].replace("-", "_")] = match[2]
        rest = rest[: match.start()]
    return kind.strip(), rest.strip(), dict(reversed(options_found.items()))


def load_encoder(spec: str) -> Encoder:
    """Load the encoder that a specification such as ``vectors:glove.txt,case=lower`` names.

    A recipe's name such as ``biobert`` loads that published encoder; options after it win over the recipe's own.
    Every kind takes the option ``name``, under which the encoder then appears in tables.
    """
    kind, argument, options = parse_encoder_spec(spec)
    name = options.pop("name", "")
    try:
        kind, recipe = encoder_name(kind)
    except UnknownNameError as error:
        if not Path(kind).expanduser().exists():
            raise
        raise UnknownNameError(
            f"{kind!r} is a file or folder; say what kind of encoder it is: vectors:{kind} for word vectors, fasttext:{kind} "
            f"for a fastText model, sentence-transformers:{kind} or transformers:{kind} for a model's folder"
        ) from error
    if recipe is not None:
        if argument:
            raise EncoderError(f"{kind!r} is a published encoder and takes no argument, only options: {kind},OPTION=VALUE")
        name = name or recipe.name
        kind, argument, options = recipe.resolve(options)
    loader = encoder_loader(kind)
    try:
        encoder = loader(argument, **options)
    except TypeError as error:
        # A wrong option name reaches the loader as an unexpected keyword; say so in the user's words.
        wrong = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if wrong is None:
            raise
        known = ", ".join([*list(inspect.signature(loader).parameters)[1:], "name"])
        raise EncoderError(f"the encoder kind {kind!r} has no option {wrong[1]!r} (in {spec!r}); it has {known}") from error
    if not isinstance(encoder, Encoder):
        raise EncoderError(f"{spec!r} loaded a {type(encoder).__name__} that has no name, identity and encode")
    if name:
        encoder.name = name
    return encoder
