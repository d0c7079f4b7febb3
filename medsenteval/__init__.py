"""MedSentEval: how good is a sentence encoder on biomedical text?

    import medsenteval
    results = medsenteval.evaluate([my_model, "lexical"], tasks="sentence")
    results.to_dataframe()
    medsenteval.compare(results)
    medsenteval.report(results, "report.html")
    results = medsenteval.engine.SE(params, batcher, prepare).eval(["MedNLI", "RQE"])     # SentEval's interface

Importing this package reads no file, sets no seed and loads no heavy library; parts are imported when they are used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from medsenteval import engine, registry, utils
    from medsenteval.contracts import Task
    from medsenteval.encoders.adapt import as_encoder
    from medsenteval.registry import own_task
    from medsenteval.report.notebook import compare, report
    from medsenteval.running.evaluation import evaluate
    from medsenteval.running.results import Results, load_results
    from medsenteval.settings import Settings

__version__ = "0.1.0"
__all__ = [
    "Results",
    "Settings",
    "Task",
    "__version__",
    "as_encoder",
    "compare",
    "engine",
    "evaluate",
    "load_results",
    "own_task",
    "registry",
    "report",
    "utils",
]


class _CloneFinder:
    """Finds the parts of the package that lie beside it in a clone; setup.py maps them only on installation."""

    folders: Final = {"tasks": "tasks", "encoders": "encoders", "sample": "data/sample"}

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, part = name.partition(".")
        if package != __name__ or part not in cls.folders:
            return None
        folder = _CLONE / cls.folders[part]
        return spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])


_CLONE: Final = Path(__file__).parents[1]
if (_CLONE / "setup.py").is_file():
    # Python started at the top of a clone finds this folder before the installed package.
    sys.meta_path.append(_CloneFinder)

_LAZY = {
    "Results": "medsenteval.running.results",
    "Settings": "medsenteval.settings",
    "Task": "medsenteval.contracts",
    "as_encoder": "medsenteval.encoders.adapt",
    "compare": "medsenteval.report.notebook",
    "evaluate": "medsenteval.running.evaluation",
    "load_results": "medsenteval.running.results",
    "own_task": "medsenteval.registry",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    # The package ``report`` can be called like the function that it stands for.
    if name in ("engine", "registry", "report", "utils"):
        return import_module(f"medsenteval.{name}")
    raise AttributeError(f"module 'medsenteval' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
