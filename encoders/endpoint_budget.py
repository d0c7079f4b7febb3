"""Tokens that a server counts: how many were used, and a budget that no request may exceed."""

from __future__ import annotations

import threading
from typing import Any

from medsenteval.errors import BudgetError, EncoderError


class TokenBudget:
    """Counts tokens over all requests and threads; with ``most``, a request that could exceed it is not sent.

    How many tokens a text has is known only once the server has answered. So the most that a request can cost is set aside
    first. ``used`` is None until a server says how many tokens it used; ``lost`` bounds what requests cost whose answers never
    came. ``within`` is a budget of several encoders together.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.used: int | None = None
        self.lost = 0
        self.within: TokenBudget | None = None
        self.alone = threading.RLock()  # held by a job while it encodes, so that it can tell its own tokens
        self._set_aside = 0
        self._lock = threading.Lock()

    def set_aside(self, tokens: int) -> bool:
        """Set tokens aside for one request; False if answers under way must be waited for, a BudgetError if there are none."""
        with self._lock:
            spent = (self.used or 0) + self.lost
            if self.most is not None and spent + self._set_aside + tokens > self.most:
                if self._set_aside:
                    return False
                raise BudgetError(
                    f"{spent:,} of max_tokens={self.most:,} tokens are used, and the next request could take up to "
                    f"{tokens:,} more"
                )
            if self.within is not None and not self.within.set_aside(tokens):
                return False
            self._set_aside += tokens
            return True

    def give_back(self, tokens: int, *, lost: bool) -> None:
        """Free what was set aside for a request; one whose answer never came counts by the most that it can have cost."""
        with self._lock:
            self._set_aside -= tokens
            self.lost += tokens if lost else 0
        if self.within is not None:
            self.within.give_back(tokens, lost=lost)

    def count(self, told: Any, where: str) -> None:
        """Take the server's own count; one that does not count cannot be held to a budget."""
        if type(told) is int and 0 <= told < 1 << 53:
            with self._lock:
                self.used = (self.used or 0) + told
        elif self.most is not None:
            raise EncoderError(f"{where}: the server does not say how many tokens it used, so max_tokens cannot be kept")
        if self.within is not None:
            self.within.count(told, where)
