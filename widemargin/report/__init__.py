"""Reports on fitted models as single HTML pages."""

from widemargin.report.page import write_report

__all__ = ["write_report"]
