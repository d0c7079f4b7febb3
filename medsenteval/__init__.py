"""MedSentEval: how good is a sentence encoder on biomedical text?

    import medsenteval
    results = medsenteval.evaluate(my_model, tasks="sentence")
    results = medsenteval.engine.SE(params, batcher, prepare).eval(["MedNLI", "RQE"])     # SentEval's interface

Importing this package reads no file, sets no seed and loads no heavy library; parts are imported when they are used.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medsenteval import engine, registry
    from medsenteval.encoders.adapt import as_encoder
    from medsenteval.settings import Settings
    from medsenteval.suite import evaluate

__version__ = "0.1.0"
__all__ = ["Settings", "__version__", "as_encoder", "engine", "evaluate", "registry"]

_CLONE = Path(__file__).parents[1]
if (_CLONE / "setup.py").is_file():
    # Python started at the top of a clone finds this folder before the installed package. In a clone the parts lie beside it,
    # and setup.py maps them only on installation; without these two lines medsenteval.tasks could not be imported there.
    __path__ += [str(_CLONE), str(_CLONE / "data")]

_LAZY = {
    "Settings": "medsenteval.settings",
    "as_encoder": "medsenteval.encoders.adapt",
    "evaluate": "medsenteval.suite",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name in ("engine", "registry"):
        return import_module(f"medsenteval.{name}")
    raise AttributeError(f"module 'medsenteval' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
