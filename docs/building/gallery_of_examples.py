"""How sphinx-gallery runs examples/gallery/: each script in a folder of its own sections, pictures for light pages."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples" / "gallery"
SECTIONS = ("classification", "choosing", "regression", "outliers", "kernels", "solvers", "trust")


logging.getLogger("widemargin").setLevel(logging.ERROR)  # pages need not know what was compiled for them, and where


def reset(configuration: dict[str, Any], name: str) -> None:
    """Each example begins with matplotlib's own settings and as large as the column of text."""
    import matplotlib.pyplot as plt

    plt.rcdefaults()
    plt.rcParams.update({"figure.figsize": (7.0, 4.2), "figure.dpi": 100, "savefig.dpi": 130, "font.size": 9.5})


CONFIGURATION = {
    "examples_dirs": [str(EXAMPLES)],
    "gallery_dirs": ["gallery"],
    "subsection_order": [f"../examples/gallery/{name}" for name in SECTIONS],
    "within_subsection_order": "FileNameSortKey",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"__init__\.py",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 0,
    "remove_config_comments": True,
    "matplotlib_animations": False,
    "image_srcset": [],
    "reset_modules": ("gallery_of_examples.reset",),
    "capture_repr": (),
    "nested_sections": False,
    "copyfile_regex": "",
    "write_computation_times": False,
}
