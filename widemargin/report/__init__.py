"""Reports on fitted models as single HTML pages."""

from typing import TYPE_CHECKING

from widemargin import _lazy

if TYPE_CHECKING:
    from widemargin.report.page import write_report

__all__ = ["write_report"]

__getattr__ = _lazy.names_of(__name__, {"write_report": "page"})  # a page takes half a second to import


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
