"""The documentation site: `make docs` builds it into docs_out/, with warnings as errors.

Pages are the Markdown files of this folder, which read well on their own; the reference comes from the docstrings, the
gallery from examples/gallery/. What the site adds is in building/, one step per file. Nothing is loaded from elsewhere:
formulas become SVG at build time, fonts and scripts are the theme's own files.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "building"))

import gallery_of_examples

import widemargin

project = "widemargin"
author = "The widemargin developers"
version = release = widemargin.__version__
html_title = f"widemargin {version}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "plain_docstrings",
    "formulas",
    "repository_links",
    "notebook_pages",
    "toy_page",
    "markdown_twins",
]
exclude_patterns = ["building", "api/generated/*.md"]
templates_path = ["_templates"]
nitpicky = False
highlight_language = "none"
default_role = "code"
smartquotes = False  # "rbf" is code as often as not

# Markdown
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

# Reference
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say more
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": True}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
add_module_names = False

# Gallery
sphinx_gallery_conf = gallery_of_examples.CONFIGURATION

# Look
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["search_from_files.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "widemargin"},
    "show_toc_level": 2,
    "navigation_depth": 3,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc", "markdown-twin"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
}
html_sidebars = {"index": [], "start": [], "toy": []}
html_context = {"default_mode": "auto"}
copyright = "the widemargin developers, BSD-3-Clause"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
