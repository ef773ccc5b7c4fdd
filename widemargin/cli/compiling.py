"""Notice when Numba compiles, so that a first fit that takes seconds longer can say why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FIRST_USE = "functions are being compiled, once; `widemargin warmup` does all of it ahead"


class Compilations:
    """Counts what Numba compiles while it is active; functions loaded from disk do not count."""

    def __init__(self, on_first: Callable[[], None] | None = None) -> None:
        self.count = 0
        self.on_first = on_first

    def __enter__(self) -> Compilations:
        from numba.core import event

        outer = self

        class Listener(event.Listener):
            def on_start(self, happening: Any) -> None:
                outer.count += 1
                if outer.count == 1 and outer.on_first is not None:
                    outer.on_first()

            def on_end(self, happening: Any) -> None:
                pass

        self._listener = Listener()
        event.register("numba:compile", self._listener)
        return self

    def __exit__(self, *exception: Any) -> None:
        from numba.core import event

        event.unregister("numba:compile", self._listener)
