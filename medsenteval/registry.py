"""Names of tasks and encoders, resolved lazily: a module is imported when its name is asked for, not before.

Third parties add theirs through the entry-point groups ``medsenteval.tasks`` (an object of type Task) and
``medsenteval.encoders`` (a callable ``load(argument, **options)`` that returns an Encoder).
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final

from medsenteval.contracts import Encoder, Task
from medsenteval.errors import EncoderError, SettingsError, UnknownNameError
from medsenteval.support.toml_files import packaged_toml

#: Canonical task name -> (module:attribute, a task or tasks by name; other names that resolve to it).
TaskTable = dict[str, tuple[str, tuple[str, ...]]]

_LISTED: Final = packaged_toml("medsenteval", "catalogue.toml")


def _task_groups() -> dict[str, TaskTable]:
    groups: dict[str, TaskTable] = {}
    for part in _LISTED["tasks"]:
        group = groups.setdefault(part["group"], {})
        for name in part["names"]:
            place = part["place"].format(name.lower())
            group[name] = (f"medsenteval.tasks.{place}", _LISTED["aliases"].get(name, ()))
    return groups


#: Group of tasks, as ``--tasks`` names it -> its tasks, in the order of tables.
TASK_GROUPS: Final = _task_groups()
#: Names of SentEval's tasks that are known and not offered, with the reason.
NOT_OFFERED: Final[dict[str, str]] = _LISTED["not_offered"]
#: Kind of encoder -> (module:loader, what its argument is).
ENCODER_KINDS: Final[dict[str, tuple[str, str]]] = {
    kind: (f"medsenteval.encoders.{loader}", argument) for kind, (loader, argument) in _LISTED["encoder_kinds"].items()
}

#: Specifications that begin so name a user's own data: a file or folder, or a data set of the model hub.
_OWN_DATA: Final = ("file:", "hf:")
#: Before the name of a task of mteb's, as in ``mteb:NFCorpus``.
_OF_MTEB: Final = "mteb:"
_TASKS: Final[TaskTable] = {name: entry for table in TASK_GROUPS.values() for name, entry in table.items()}
_GROUPS: Final = {"all": tuple(_TASKS), **{group: tuple(table) for group, table in TASK_GROUPS.items()}}
#: As many names are listed in an error message.
_FEW: Final = 20


def name_key(name: str) -> str:
    """Return what two spellings of one name have in common: neither case, blanks nor punctuation."""
    return re.sub(r"[\W_]+", "", name).casefold()


def resolve_name(what: str, name: str, canonical: Mapping[str, str], known: str = "", also: Iterable[str] = ()) -> str:
    """Look a spelling up among keys made by ``name_key``; an unknown one suggests the nearest, among ``also`` too.

    ``known`` is said in place of a long list.
    """
    found = canonical.get(name_key(name))
    if found is not None:
        return found
    names = list(dict.fromkeys(canonical.values()))
    spellings = {**canonical, **{name_key(each): each for each in also}}
    near = difflib.get_close_matches(name_key(name), spellings, n=9, cutoff=0.6)
    suggestions = list(dict.fromkeys(spellings[key] for key in near))[:3]
    hint = f"did you mean {' or '.join(map(repr, suggestions))}? " if suggestions else ""
    # Nobody reads a list of eighty names.
    listed = f"`medsenteval {what}s` lists all {len(names)}"
    known = known or (f"Known: {', '.join(names)}" if len(names) <= _FEW else listed)
    raise UnknownNameError(f"no {what} is called {name!r}; {hint}{known}")


def same_names(wanted: str, known: Iterable[str]) -> list[str]:
    """Return the known names that a user may mean: the very same one if it is there, else those that differ in case only."""
    listed = list(known)
    return [wanted] if wanted in listed else [name for name in listed if name.casefold() == wanted.casefold()]


@cache  # every installed package is looked through
def _plugins(group: str) -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


def _import(reference: str) -> Any:
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def _task_spellings() -> dict[str, str]:
    canonical = {name_key(name): name for name in _plugins("medsenteval.tasks")}
    # Built-in names win over plug-ins, so that a score called MedNLI is always the same MedNLI.
    for name, (_, aliases) in _TASKS.items():
        canonical.update({name_key(spelling): name for spelling in (name, *aliases)})
    return canonical


def task_names() -> tuple[str, ...]:
    """Every known task: those of the groups in order, then those of plug-ins."""
    return tuple(dict.fromkeys([*_TASKS, *_plugins("medsenteval.tasks")]))


def canonical_task_name(name: str) -> str:
    """Return a task's own name for this spelling of it, without importing the task."""
    spellings = _task_spellings()
    for refused, reason in NOT_OFFERED.items():
        # A plug-in may offer what we do not.
        if name_key(refused) == name_key(name) and name_key(name) not in spellings:
            raise UnknownNameError(f"task {refused!r} is not offered: {reason}")
    return resolve_name("task", name, spellings, also=_GROUPS)


def task(name: str) -> Task:
    """Return the task of this name or alias, in any case, or that of a file such as ``file:notes.csv,label=severity``.

    An unknown name suggests the nearest known ones.

    >>> medsenteval.registry.task("mednli").labels
    ('entailment', 'neutral', 'contradiction')
    """
    if name.strip().startswith(_OWN_DATA):
        return own_task(name.strip())
    if name.strip().startswith(_OF_MTEB):
        bridged: Task = _import("medsenteval.interop.mteb:mteb_task")(name.strip().removeprefix(_OF_MTEB))
        return bridged
    try:
        canonical = canonical_task_name(name)
    except UnknownNameError as error:
        if not Path(name).expanduser().exists():
            raise
        raise UnknownNameError(f"{name!r} is a file or folder; to score it write file:{name}") from error
    found = _import(_TASKS[canonical][0]) if canonical in _TASKS else _plugins("medsenteval.tasks")[canonical].load()
    found = found.get(canonical) if isinstance(found, Mapping) else found
    if not isinstance(found, Task):
        raise SettingsError(f"the task {canonical!r} is a {type(found).__name__}, not a medsenteval Task")
    return found


def own_task(source: Any, **options: str) -> Task:
    """Return the task of a user's own data, with the options that name its columns: ``own_task(frame, label="severity")``.

    ``source`` is a path, a specification (``file:notes.csv``, ``hf:OWNER/NAME``), a DataFrame, a list of dicts, a dict of
    columns or (texts, labels). See docs/own-data.md.

    >>> medsenteval.own_task((["no pain", "much pain", "pain free", "in pain"], ["well", "ill"] * 2)).own_data
    'text <- text, label <- label (2 labels: ill 2, well 2), 4 rows, 0 rejected'
    """
    kind: str = "table"
    if isinstance(source, str) and source.startswith(_OWN_DATA):
        kind, source, written = parse_encoder_spec(source)
        options = written | options
    elif isinstance(source, (str, Path)):
        kind = "file"
    found: Task = _import("medsenteval.tasks.own.own_task:make_task")(kind, source, options)
    return found


def _is_table(selection: Any) -> bool:
    """Tell data itself from names of tasks."""
    if isinstance(selection, (list, tuple)):
        first = selection[0] if selection else ""
        return isinstance(first, Mapping) or (isinstance(selection, tuple) and not isinstance(first, (str, Path, Task)))
    return isinstance(selection, Mapping) or hasattr(selection, "columns") or hasattr(selection, "column_names")


def _split_selection(selection: str) -> list[str]:
    """Split names at commas; the options after a user's own file belong to it."""
    parts: list[str] = []
    for part in selection.split(","):
        if parts and "=" in part and parts[-1].strip().startswith(_OWN_DATA):
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts


def select_tasks(selection: Any) -> list[Task]:
    """Resolve "sentence", "MedNLI,file:notes.csv", ["sentence", MY_TASK], a path, a DataFrame and the like to tasks.

    Each task is there once, in the order given.

    >>> [task.name for task in medsenteval.registry.select_tasks("rqe,BIOSSES")]
    ['RQE', 'BIOSSES']
    """
    if isinstance(selection, str):
        selection = _split_selection(selection)
    elif isinstance(selection, (Path, Task)) or _is_table(selection):
        selection = [selection]
    chosen: dict[str, Task] = {}
    for part in selection:
        if isinstance(part, str):
            names = _tasks_named(part.strip())
            found = [task(name) for name in names if name and name not in chosen]
        else:
            found = [part if isinstance(part, Task) else own_task(part)]
        for each in found:
            if each.own_data and each.name in chosen:
                raise SettingsError(f"two tasks are called {each.name}; give one of them another name with name=")
            chosen.setdefault(each.name, each)
    if not chosen:
        raise SettingsError(f"no task was selected by {selection!r}; try 'sentence' or a task's name")
    return list(chosen.values())


def _tasks_named(name: str) -> tuple[str, ...]:
    """Return the names of a group's tasks, or of those that read a data set of another name (SICK), or the name itself."""
    if name.startswith(_OWN_DATA) or name_key(name) in _task_spellings():
        return (name,)
    if (group := _GROUPS.get(name.casefold())) is not None:
        return group
    data_sets: Mapping[str, Any] = _import("medsenteval.datasets.manifest:manifests")()
    known = set(task_names())
    read_by = {name_key(each): tuple(task for task in found.task_names if task in known) for each, found in data_sets.items()}
    return read_by.get(name_key(name)) or (name,)


def select_names(selection: str, stored: Iterable[str]) -> set[str]:
    """Resolve names of tasks and groups of which results are stored; those of a user's own data are taken as they stand."""
    names = list(stored)
    known = {name.casefold(): name for name in names} | {name: name for name in names}
    chosen: set[str] = set()
    for part in filter(None, map(str.strip, selection.split(","))):
        named = known.get(part) or known.get(part.casefold())
        chosen.update([named] if named else map(canonical_task_name, _tasks_named(part)))
    return chosen


def encoder_kinds() -> dict[str, str]:
    """Every kind of encoder that a specification can name, with what its argument is."""
    kinds = dict.fromkeys(_plugins("medsenteval.encoders"), "from a plug-in")
    return kinds | {name: argument for name, (_, argument) in ENCODER_KINDS.items()}


def encoder_loader(kind: str) -> Callable[..., Encoder]:
    """Return the function that loads this kind of encoder, by its canonical name, importing its module only now."""
    loader: Callable[..., Encoder]
    loader = _import(ENCODER_KINDS[kind][0]) if kind in ENCODER_KINDS else _plugins("medsenteval.encoders")[kind].load()
    return loader


def encoder_name(name: str) -> tuple[str, Any]:
    """Return the canonical name of a kind of encoder, and None, or of a published encoder, and its Recipe."""
    kinds = {name_key(kind): kind for kind in encoder_kinds()}
    # Kinds win over recipes, so that a specification means the same whatever recipes are added.
    if (kind := kinds.get(name_key(name))) is not None:
        return kind, None
    recipes: Mapping[str, Any] = _import("medsenteval.encoders.recipes:recipes")()
    spellings = {name_key(alias): found.name for found in recipes.values() for alias in (found.name, *found.aliases)}
    known = f"Known: {', '.join(kinds.values())}, and the published encoders that `medsenteval encoders` lists"
    canonical = resolve_name("encoder", name, spellings | kinds, known)
    return canonical, recipes[canonical]


#: The last option of a specification; a value in double quotes holds anything, with \", \\ and \n escaped by a backslash.
_LAST_OPTION: Final = re.compile(r',([A-Za-z_][\w-]*)=("(?:[^"\\]|\\[\s\S])*"|[^,]*)\Z')


def parse_encoder_spec(spec: str) -> tuple[str, str, dict[str, str]]:
    """Split ``kind:argument,option=value,...`` into its parts; commas inside the argument stay where no ``=`` follows.

    A value may stand in double quotes: ``prompt="a, b=c: \\n"``.
    """
    kind, _, rest = spec.partition(":")
    if "," in kind:
        kind, _, options = kind.partition(",")
        rest = "," + options + (":" + spec.partition(":")[2] if ":" in spec else "")
    options_found: dict[str, str] = {}
    while match := _LAST_OPTION.search(rest):
        value = match[2]
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = re.sub(r"\\([\s\S])", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), value[1:-1])
        name = match[1].replace("-", "_")
        if name in options_found:
            raise SettingsError(f"{spec}: the option {name} is given twice; give it once")
        options_found[name] = value
        rest = rest[: match.start()]
    return kind.strip(), rest.strip(), dict(reversed(options_found.items()))


def add_options(spec: str, options: Mapping[str, str]) -> str:
    """Return a specification with more options, quoted where their values need it; ``parse_encoder_spec`` undoes it."""
    for name, value in options.items():
        if re.search(r'[,"\\\n\t]', value):
            escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
            value = f'"{escaped}"'
        spec += f",{name}={value}"
    return spec


def load_encoder(spec: str) -> Encoder:
    """Load the encoder that a specification such as ``vectors:glove.txt,case=lower`` names.

    A recipe's name such as ``biobert`` loads that published encoder; options after it win over the recipe's own.
    Every kind takes the options ``name``, under which the encoder then appears in tables, ``precision`` (float32, int8 or
    ubinary), to which its vectors are rounded after encoding, and ``trained_on``, a file that declares what it was trained on.

    >>> medsenteval.registry.load_encoder("lexical,dimension=64,name=small").name
    'small'
    """
    kind, argument, options = parse_encoder_spec(spec)
    name, precision = options.pop("name", ""), options.pop("precision", "float32")
    declaration = options.pop("trained_on", "")
    declared: Mapping[str, str] = _import("medsenteval.encoders.recipes:read_declaration")(declaration) if declaration else {}
    chosen = options
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
        name = name or recipe.shown
        declared = {**recipe.trained_on, **declared}
        kind, argument, options = recipe.resolve(chosen)
    wanted = encoder_kinds()[kind]
    if kind in ENCODER_KINDS and bool(argument) == wanted.startswith("no argument"):
        raise EncoderError(f"{kind}: takes {wanted}; got {argument!r}")
    loader = encoder_loader(kind)
    try:
        encoder = loader(argument, **options)
    except TypeError as error:
        # A wrong option name reaches the loader as an unexpected keyword; say so in the user's words.
        wrong = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if wrong is None:
            raise
        known = ", ".join([*list(inspect.signature(loader).parameters)[1:], "name", "precision", "trained_on"])
        raise EncoderError(f"the encoder kind {kind!r} has no option {wrong[1]!r} (in {spec!r}); it has {known}") from error
    if not isinstance(encoder, Encoder):
        raise EncoderError(f"{spec!r} loaded a {type(encoder).__name__} that has no name, identity and encode")
    # Other layers than the recipe's may well have another width.
    if recipe is not None and recipe.dimension is not None and not chosen.keys() & {"layer", "layers"}:
        width = getattr(encoder, "dimension", None) or len(encoder.encode(["."])[0])
        if width != recipe.dimension:
            raise EncoderError(
                f"the recipe {recipe.name!r} stands for vectors of {recipe.dimension} numbers, and {argument} gives {width}: "
                f"these are other weights. Name them by their kind instead ({kind}:{argument}), or fetch the recipe's"
            )
    if precision != "float32":
        encoder = _import("medsenteval.encoders.derived:DerivedEncoder")(encoder, precision=precision)
    if name:
        encoder.name = name
    if declared:
        encoder.trained_on = declared  # type: ignore[attr-defined]
    return encoder
