"""The catalogue of tasks and kinds of encoder, as catalogue.toml lists them; ``registry`` looks names up in it."""

from __future__ import annotations

from typing import Final

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
