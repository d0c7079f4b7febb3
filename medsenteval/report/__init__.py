"""Results as something to read. Called, ``medsenteval.report(results, "report.html")`` writes the page.

>>> results = medsenteval.evaluate(["lexical", "lexical,dimension=64"], "BIOSSES", name=["large", "small"])
>>> medsenteval.report(results, "report.html").name
'report.html'
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """``medsenteval.report`` is the name of this package and of the function that users look for."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from medsenteval.report.notebook import report

        return report(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
