"""Draw figures by name; see the package's docstring."""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from PIL import Image

from examples.figures import (
    bishop_4,
    bishop_7_2,
    cs229_ascent,
    cs229_margins,
    gallery,
    marsland_8_7,
    marsland_8_8,
    marsland_8_9,
    marsland_8_10,
    smo_step,
    ten_solvers,
)
from widemargin.plots.palette import ON_DARK, ON_LIGHT

FIGURES: dict[str, Callable[[], Any]] = {
    "marsland-8-7": marsland_8_7.draw,
    "marsland-8-8-polynomial": marsland_8_8.draw_polynomial,
    "marsland-8-8-gaussian": marsland_8_8.draw_gaussian,
    "marsland-8-9": marsland_8_9.draw,
    "marsland-8-10": marsland_8_10.draw,
    "cs229-margins": cs229_margins.draw,
    "cs229-ascent": cs229_ascent.draw,
    "bishop-4-1": bishop_4.draw_geometry,
    "bishop-4-2": bishop_4.draw_classes,
    "bishop-7-2": bishop_7_2.draw,
    "smo-step": smo_step.draw,
    "solvers-steps": ten_solvers.draw_steps,
    "solvers-values": ten_solvers.draw_values,
    "solvers-seconds": ten_solvers.draw_seconds,
    **{f"plots-{name}": draw for name, draw in gallery.PICTURES.items()},
}
DOTS_PER_INCH = 110
IN_DOCS = 72  # dots per inch: a picture of 7 inches is as wide as a column of text
LARGEST_IN_DOCS = 58_000  # bytes; pages with a dozen pictures should load at once
TOO_CLOSE = 8  # of 255: a palette colour as near as this to an exact one would be taken for it
PALETTES = (160, 96, 64, 48, 32)  # numbers of colours to try until a file is small enough


def palette_of(picture: Image.Image, colours: int) -> Image.Image:
    """A palette of few colours, among which those of points and lines stay exactly as they are."""
    kept = np.array([to_rgb(colour) for colour in (*ON_LIGHT, *ON_DARK, "#222222", "white")]) * 255
    found = np.array(picture.quantize(colours, dither=Image.Dither.NONE).getpalette()).reshape(-1, 3)[:colours]
    apart = np.abs(found[:, None] - kept[None]).max(axis=2).min(axis=1) > TOO_CLOSE
    palette = Image.new("P", (1, 1))
    palette.putpalette(np.vstack([kept.round(), found[apart]]).astype(np.uint8).tobytes())
    return palette


def with_palette(picture: Image.Image, colours: int) -> Image.Image:
    """The picture in few colours; see `palette_of`."""
    return picture.quantize(palette=palette_of(picture, colours), dither=Image.Dither.NONE)


def save(name: str, folder: Path, docs: bool) -> Path:
    """Draw one figure into a PNG file."""
    figure = FIGURES[name]()
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=IN_DOCS if docs else DOTS_PER_INCH)
    plt.close(figure)
    picture = Image.open(drawn).convert("RGB")
    path = folder / f"{name}.png"
    if not docs:
        picture.save(path, optimize=True)
        return path
    for colours in PALETTES:
        with_palette(picture, colours).save(path, optimize=True)
        if path.stat().st_size <= LARGEST_IN_DOCS:
            break
    return path


def main(arguments: list[str] | None = None) -> list[Path]:
    """Draw what was asked for; returns the files."""
    parser = argparse.ArgumentParser(prog="python -m examples.figures", description="Draw figures.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(FIGURES)}; all by default")
    parser.add_argument("--folder", type=Path, default=Path("figures_out"), help="where to put them")
    parser.add_argument("--docs", action="store_true", help="small files, into docs/images")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.names) - set(FIGURES))
    if unknown:
        parser.error(f"there is no figure {', '.join(unknown)}; choose from {', '.join(FIGURES)}")
    folder = Path(__file__).parents[2] / "docs" / "images" if chosen.docs else chosen.folder
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in chosen.names or FIGURES:
        paths.append(save(name, folder, chosen.docs))
        print(f"{paths[-1]}  {paths[-1].stat().st_size / 1000:.0f} kB")
    return paths


if __name__ == "__main__":
    matplotlib.use("Agg")
    main()
