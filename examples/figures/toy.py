"""Pictures of the SVM toy, taken in Chromium: `python -m examples.figures.toy docs/images`.

    toy.gif           a solver step by step, then C and gamma moved, for the README
    toy-steps.png     why a pair was chosen
    toy-beside.png    Platt's SMO and the second-order choice on the same points
    toy-lift.png      the decision value as height

They are not among the figures of `python -m examples.figures`, which need no browser.
"""

from __future__ import annotations

import io
import math
import sys
import tempfile
from pathlib import Path

from PIL import Image

from examples.figures.__main__ import palette_of, with_palette
from tests.playground.browser import Browser, Page
from widemargin.playground.page import write_page

TOY = "document.querySelector('#wm-toy').toy"
LARGEST_GIF, LARGEST_PNG = 1_500_000, 60_000  # bytes
GIF_SIZE = (1200, 840), (800, 560)  # of the window, of the picture


def seen(page: Page, size: tuple[int, int]) -> Image.Image:
    """What is on the screen, at another size."""
    page.settle()
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        page.picture(file.name)
        return (
            Image.open(io.BytesIO(Path(file.name).read_bytes())).convert("RGB").resize(size, Image.Resampling.LANCZOS)
        )


def animation(browser: Browser, address: str) -> bytes:
    """Steps of SMO on overlapping XOR, the optimum, and the boundary that follows C and gamma."""
    window, size = GIF_SIZE
    page = browser.open(f"{address}#x=xor&C=10", *window)
    frames, pauses = [], []

    def take(milliseconds: int) -> None:
        frames.append(seen(page, size))
        pauses.append(milliseconds)

    take(900)
    for step in range(18):
        page.run(f"{TOY}.press('step')")
        take(1300 if step < 2 else 450)
    page.run(f"{TOY}.press('end')")
    page.wait(f"{TOY}.players[0].ended")
    take(1400)
    page.run(f"{TOY}.watching = false; {TOY}.usePreset('moons')")
    for k in range(22):
        angle = 2 * math.pi * k / 22
        C, gamma = 10 ** (0.5 - 1.2 * math.sin(angle)), 10 ** (0.2 + 0.7 * math.sin(2 * angle))
        page.run(f"{TOY}.set({{ C: {C:.3g}, gamma: {gamma:.3g} }})")
        take(150)
    page.close()
    both = Image.new("RGB", (size[0], 2 * size[1]))  # light tints of the first example, dark ones of the second
    for k, frame in enumerate((frames[10], frames[-6])):
        both.paste(frame, (0, k * size[1]))
    for colours in (96, 64, 48, 32):
        palette = palette_of(both, colours)
        drawn = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
        out = io.BytesIO()
        drawn[0].save(out, "GIF", save_all=True, append_images=drawn[1:], duration=pauses, loop=0, optimize=True)
        if out.tell() <= LARGEST_GIF:
            break
    return out.getvalue()


def still(
    browser: Browser, address: str, state: str, script: str, window: tuple[int, int], scale: float, top: int = 0
) -> bytes:
    """One picture of the page, in as many colours as fit."""
    page = browser.open(f"{address}#{state}", *window)
    page.settle()
    page.run(script)
    picture = seen(page, window)
    page.close()
    picture = picture.crop((0, top, *window)).resize(
        (int(scale * window[0]), int(scale * (window[1] - top))), Image.Resampling.LANCZOS
    )
    for colours in (128, 96, 64, 48, 32):
        out = io.BytesIO()
        with_palette(picture, colours).save(out, "PNG", optimize=True)
        if out.tell() <= LARGEST_PNG:
            break
    return out.getvalue()


def main(folder: Path) -> None:
    """Take all of them."""
    steps = f"for (let k = 0; k < 9; k++) {TOY}.press('step')"
    beside = f"for (let k = 0; k < 25; k++) {TOY}.press('step')"
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "toy.html"
        file.write_text(write_page(), encoding="utf-8")
        browser = Browser()
        try:
            pictures = {
                "toy.gif": animation(browser, file.as_uri()),
                "toy-steps.png": still(browser, file.as_uri(), "x=moons", steps, (1180, 840), 0.6),
                "toy-beside.png": still(browser, file.as_uri(), "x=xor&s=platt&o=default", beside, (1180, 960), 0.6),
                "toy-lift.png": still(browser, file.as_uri(), "x=circles&v=lift&t=dark", "0", (1180, 1010), 0.6),
            }
        finally:
            browser.close()
    for name, data in pictures.items():
        (folder / name).write_bytes(data)
        print(f"{name}: {len(data):,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
