"""What is put before a text: one prompt for all, one for queries and one for documents, one for a single task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from medsenteval.errors import EncoderError
from medsenteval.registry import name_key

__all__ = ["ROLES", "Prompts"]

#: The roles that a task can give a text; texts without one are compared on equal terms.
ROLES = ("query", "document")


@dataclass(frozen=True)
class Prompts:
    """``default`` is for texts without a role, ``roles`` for queries and documents, ``tasks`` for the tasks that they name.

    A task's own prompt replaces the default one and that of queries; documents keep theirs, as instruction-tuned encoders
    have it.
    """

    default: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def given(cls, kind: str, default: str, query: str | None, document: str | None, tasks: str) -> Prompts:
        """Read the options of a specification; ``tasks`` is a JSON object from names of tasks to prompts."""
        try:
            named = json.loads(tasks) if tasks else {}
        except ValueError as error:
            raise EncoderError(f"{kind}: task_prompts is not JSON: {error}; expected {{'RQE': 'prompt'}} in JSON") from error
        if not isinstance(named, dict) or not all(isinstance(text, str) for text in named.values()):
            raise EncoderError(f"{kind}: task_prompts is {tasks!r}; expected a JSON object from names of tasks to prompts")
        roles = {role: text for role, text in zip(ROLES, (query, document), strict=True) if text is not None}
        return cls(default, roles, {name_key(name): text for name, text in sorted(named.items())})

    def chosen(self, task: str, role: str) -> str:
        """Return the prompt for a text of this role in this task."""
        own = self.tasks.get(name_key(task))
        if own is not None and role != "document":
            return own
        return self.roles.get(role, self.default)

    def __str__(self) -> str:
        """Everything of it, as an identity names it."""
        parts = [f"prompt={self.default!r}"]
        parts += [f"{role}_prompt={text!r}" for role, text in sorted(self.roles.items()) if text != self.default]
        return "-".join(parts + [f"prompt for {task}={text!r}" for task, text in sorted(self.tasks.items())])
