"""Tokens that a server counts: how many were used, and a budget that no request may exceed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from medsenteval.errors import BudgetError, EncoderError

__all__ = ["TokenBudget"]


class TokenBudget:
    """Counts tokens over all requests and threads; with ``most``, a request that could exceed it is not sent.

    How many tokens a text has is known only once the server has answered. So the most that a request can cost is set aside
    first, waiting for answers under way where that is needed. ``used`` is None until a server says how many tokens it used;
    ``lost`` bounds what requests cost whose answers never came. ``within`` is a budget of several encoders together.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.used: int | None = None
        self.lost = 0
        self.within: TokenBudget | None = None
        self.alone = threading.RLock()  # held by a job while it encodes, so that it can tell its own tokens
        self._set_aside = 0
        self._changed = threading.Condition()

    def __reduce__(self) -> tuple[Any, ...]:
        return TokenBudget, (self.most,)

    @contextmanager
    def held(self, tokens: int) -> Iterator[None]:
        """Set tokens aside for one request, or raise a BudgetError."""
        with self._changed:
            while self.most is not None and (self.used or 0) + self.lost + self._set_aside + tokens > self.most:
                if not self._set_aside:
                    raise BudgetError(
                        f"{(self.used or 0) + self.lost:,} of max_tokens={self.most:,} tokens are used, and the next request "
                        f"could take up to {tokens:,} more"
                    )
                self._changed.wait()
            self._set_aside += tokens
        try:
            with nullcontext() if self.within is None else self.within.held(tokens):
                yield
        finally:
            with self._changed:
                self._set_aside -= tokens
                self._changed.notify_all()

    def count(self, told: Any, where: str) -> None:
        """Take the server's own count; one that does not count cannot be held to a budget."""
        if type(told) is int and 0 <= told < 1 << 53:
            with self._changed:
                self.used = (self.used or 0) + told
        elif self.most is not None:
            raise EncoderError(f"{where}: the server does not say how many tokens it used, so max_tokens cannot be kept")
        if self.within is not None:
            self.within.count(told, where)

    def lose(self, tokens: int) -> None:
        """Count a request whose answer never came by the most that it can have cost."""
        with self._changed:
            self.lost += tokens
        if self.within is not None:
            self.within.lose(tokens)
