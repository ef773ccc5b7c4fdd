"""Ways to damage a file: bytes of any file, numbers of a text, values and arrays of a model file or an .npz."""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.storage.archive import read_archive, write_archive

NUMBERS = (
    b"nan inf -1 0 1e400 -1e308 1e-400 99999999999999999999999 2147483648 4294967295 9223372036854775807 200000000 "
    b"0x10 1_000 + . :"
).split() + [b"", b"\x00", b"\xff", b"\n", b" ", b"#", b'"']


def kind(of: str, /, **items: Any) -> dict[str, Any]:
    """A value of io/packing.py."""
    return {"kind": of, **items}


VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 3, 2**31, 2**63, 10**30, 0.5, -1e308, "", "x", "rbf", "precomputed", [], [[]], {}, [1, "x"],
    kind("float", text="nan"), kind("float", text="x"), kind("array", name="support_", object=False),
    kind("array", name="classes_", object=True), kind("list", items=[]), kind("tuple", items=[1, 2]), kind("none"),
    kind("dict", items=[[1, 2]]), kind("dict", items=[[kind("list", items=[]), 2]]), kind("slice", items=[1]),
    kind("kernel", text="Gaussian(gamma=0.5)"), kind("kernel", text="Spectrum(k=1000000000)"),
    kind("kernel", text="Gaussian(gamma=nan) + 2 *"), kind("kernel", text="Linear() * Polynomial(degree=1000000000)"),
    kind("csr", name="support_vectors_", shape=[2, 10**12], matrix=True), kind("status", name="OPTIMAL"),
    kind("dtype", text="O", **{"class": False}),
    kind("record", items=kind("dict", items=[]), **{"class": "Certificate"}),
    kind("transformer", state=kind("dict", items=[]), **{"class": "StandardScaler"}),
)  # fmt: skip
FLOATS = (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, 2.0**31, 0.5)

Random = np.random.Generator


def pick(rng: Random, items: Any) -> Any:
    return items[int(rng.integers(len(items)))]


# ---- bytes and text ----


def damage_bytes(data: bytes, rng: Random) -> bytes:
    """Change, cut out, repeat or append some bytes."""
    changed = bytearray(data)
    for _ in range(int(rng.choice([1, 1, 1, 2, 5, 20]))):
        place = int(rng.integers(max(1, len(changed))))
        size = int(rng.choice([1, 2, 4, 8, 64]))
        match int(rng.integers(6)):
            case 0 if changed:
                changed[place] ^= 1 << int(rng.integers(8))
            case 1:
                changed[place : place + size] = bytes([pick(rng, (0, 1, 0x7F, 0x80, 0xFF))]) * size
            case 2:
                del changed[place : place + size]
            case 3:
                changed[place:place] = changed[place : place + size]
            case 4:
                del changed[place:]
            case _:
                changed[place : place + size] = rng.bytes(size)
    return bytes(changed)


def damage_text(data: bytes, rng: Random) -> bytes:
    """Replace a word or number by a hostile one, or exchange lines; sometimes change bytes."""
    for _ in range(int(rng.choice([1, 1, 2, 4]))):
        words = list(re.finditer(rb"[^\s,:]+", data))
        lines = data.split(b"\n")
        match int(rng.integers(6)):
            case 0 | 1 | 2 if words:
                begin, end = pick(rng, words).span()
                data = data[:begin] + pick(rng, NUMBERS) + data[end:]
            case 3:
                first, second = (int(rng.integers(len(lines))) for _ in range(2))
                lines[first], lines[second] = lines[second], lines[first]
                data = b"\n".join(lines)
            case 4:
                del lines[int(rng.integers(len(lines)))]
                data = b"\n".join(lines)
            case _:
                data = damage_bytes(data, rng)
    return data


# ---- values and arrays ----


def damage_array(array: np.ndarray, rng: Random) -> np.ndarray:
    """Change the type, the shape, the size or some entries of an array."""
    match int(rng.integers(6)):
        case 0:
            try:
                return array.astype(pick(rng, ("f4", "f8", "i4", "i8", "u1", "U3", "S2", "?")))
            except (ValueError, TypeError):
                return array[:0]
        case 1:
            return array[: int(rng.integers(len(array) + 1))] if array.ndim else array.reshape(1)
        case 2:
            return np.concatenate([array, array]) if array.ndim else array.reshape(1, 1)
        case 3:
            return pick(rng, (array.reshape(-1), array[None], array.T))
        case 4 if array.size and array.ndim:
            return array[:, : int(rng.integers(array.shape[1] + 1))] if array.ndim == 2 else array[::-1]
    changed = array.copy()
    if changed.size and changed.dtype.kind in "iufb":
        with np.errstate(all="ignore"):
            flat = changed.reshape(-1)
            for _ in range(int(rng.choice([1, 1, 3]))):
                extremes = (-1, 0, 1, 2**30, -(2**30)) if changed.dtype.kind in "iub" else FLOATS
                flat[int(rng.integers(len(flat)))] = np.array(pick(rng, extremes)).astype(changed.dtype)
    return changed


def places_of(tree: Any) -> list[tuple[Any, Any]]:
    """(container, key) of every value in a tree of dicts and lists."""
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [place for key, value in inside for place in ((tree, key), *places_of(value))]


def damage_model(path: Path, target: Path, rng: Random) -> None:
    """Change values or arrays of a model file, with the right checksum; sometimes bytes."""
    if rng.random() < 0.1:
        target.write_bytes(damage_bytes(path.read_bytes(), rng))
        return
    header, arrays = read_archive(path)
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        if arrays and rng.random() < 0.4:
            name = pick(rng, sorted(arrays))
            arrays[name] = damage_array(arrays[name], rng)
            continue
        container, key = pick(rng, places_of(header))
        match int(rng.integers(4)):
            case 0:
                del container[key]
            case 1:
                others, other = pick(rng, places_of(header))
                container[key] = copy.deepcopy(others[other])
            case _:
                container[key] = pick(rng, VALUES)
    try:
        write_archive(target, header, arrays)
    except (ValueError, TypeError, RecursionError):  # a header that contains itself
        target.write_bytes(damage_bytes(path.read_bytes(), rng))


def damage_npz(path: Path, target: Path, rng: Random) -> None:
    """Change the arrays of an .npz file; sometimes bytes."""
    if rng.random() < 0.4:
        target.write_bytes(damage_bytes(path.read_bytes(), rng))
        return
    with np.load(path) as loaded:
        arrays = {name: loaded[name] for name in loaded.files}
    name = pick(rng, sorted(arrays))
    arrays[name] = damage_array(arrays[name], rng)
    if rng.random() < 0.2:
        del arrays[pick(rng, sorted(arrays))]
    buffer = io.BytesIO()
    pick(rng, (np.savez, np.savez_compressed))(buffer, **arrays)
    target.write_bytes(buffer.getvalue())


def damage_packed(data: bytes, rng: Random) -> bytes:
    """Change bytes of a compressed file, or the text inside it."""
    packer = {b"\x1f\x8b": gzip, b"BZ": bz2}.get(data[:2], lzma)
    if rng.random() < 0.5:
        return damage_bytes(data, rng)
    return packer.compress(damage_text(packer.decompress(data), rng) * int(rng.choice([1, 1, 100])))


def on_bytes(damage: Callable[[bytes, Random], bytes]) -> Callable[[Path, Path, Random], None]:
    """A damage of files from a damage of bytes."""

    def work(path: Path, target: Path, rng: Random) -> None:
        target.write_bytes(damage(path.read_bytes(), rng))

    return work
