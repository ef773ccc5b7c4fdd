"""Standard output whose failures are sentences, told apart from those of files, which raise the same OSError."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from widemargin.storage.errors import FileError


class StandardOutput:
    """A stream that raises FileError if it cannot be written; BrokenPipeError of a reader that has gone stays."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.failed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._checked():
            return self._stream.write(text)

    def flush(self) -> None:
        with self._checked():
            self._stream.flush()

    def drop(self) -> None:
        """Send what is left nowhere, so that the end of the process does not fail at it again."""
        with suppress(OSError, ValueError):  # streams that are no files, in tests and notebooks
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            self.failed = True
            raise FileError(f"standard output cannot be written: {error.strerror or error}.") from None
