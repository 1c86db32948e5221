"""Calls of a sandbox that belong together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Group:
    """Made by a sandbox, which says whether it is open."""

    def __init__(self, open_session: Callable[[], Any]) -> None:
        self._open = open_session
