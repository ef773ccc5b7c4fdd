"""Figures of the texts this library follows, drawn again, and the pictures of docs/plots.md.

    python -m examples.figures                    all of them, into figures_out/
    python -m examples.figures marsland-8-7       one of them
    python -m examples.figures --docs             those of the documentation, into docs/images/

A module here has functions without arguments that return a matplotlib figure; `__main__.py` lists them by name.
"""
