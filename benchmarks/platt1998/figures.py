"""Platt's own figures, typed in from MSR-TR-98-14, section 3: CPU seconds on a 266 MHz Pentium II, None where he has
N/A.

Tables are numbered in the order in which they stand in section 3; the report gives them no numbers.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Experiment:
    """One experiment: what was trained, and what Platt found."""

    name: str
    title: str
    table: int
    data: str
    kernel: str  # "linear", or "gaussian" with variance 10
    C: float
    sizes: tuple[int, ...]
    smo: tuple[float, ...]
    chunking: tuple[float | None, ...]
    non_bound: tuple[int, ...]
    bound: tuple[int, ...]
    smo_exponent: float
    chunking_exponent: float
    dense_table: int | None = None
    smo_dense: tuple[float, ...] = ()
    chunking_dense: tuple[float | None, ...] = ()


ADULT = (1605, 2265, 3185, 4781, 6414, 11221, 16101, 22697, 32562)
WEB = (2477, 3470, 4912, 7366, 9888, 17188, 24692, 49749)
SEPARABLE = (1000, 2000, 5000, 10000, 20000)
NOISE = (500, 1000, 2000, 5000, 10000)

EXPERIMENTS = (
    Experiment(
        "adult-linear", "Income prediction (adult), linear, C = 0.05", 1, "adult", "linear", 0.05, ADULT,
        smo=(0.4, 0.9, 1.8, 3.6, 5.5, 17.0, 35.3, 85.7, 163.6),
        chunking=(37.1, 228.3, 596.2, 1954.2, 3684.6, 20711.3, None, None, None),
        non_bound=(42, 47, 57, 63, 61, 79, 67, 88, 149),
        bound=(633, 930, 1210, 1791, 2370, 4079, 5854, 8209, 11558),
        smo_exponent=1.9, chunking_exponent=3.1,
    ),
    Experiment(
        "adult-gaussian", "Income prediction (adult), Gaussian with variance 10, C = 1", 2, "adult", "gaussian",
        1.0, ADULT,
        smo=(15.8, 32.1, 66.2, 146.6, 258.8, 781.4, 1784.4, 4126.4, 7749.6),
        chunking=(34.8, 144.7, 380.5, 1137.2, 2530.6, 11910.6, None, None, None),
        non_bound=(106, 165, 181, 238, 298, 460, 567, 813, 1011),
        bound=(585, 845, 1115, 1650, 2181, 3746, 5371, 7526, 10663),
        smo_exponent=2.1, chunking_exponent=2.9,
    ),
    Experiment(
        "web-linear", "Web pages, linear, C = 1", 3, "web", "linear", 1.0, WEB,
        smo=(2.2, 4.9, 8.1, 12.7, 24.7, 65.4, 104.9, 268.3),
        chunking=(13.1, 16.1, 40.6, 140.7, 239.3, 1633.3, 3369.7, 17164.7),
        non_bound=(123, 147, 169, 194, 214, 252, 273, 315),
        bound=(47, 72, 107, 166, 245, 480, 698, 1408),
        smo_exponent=1.6, chunking_exponent=2.5,
    ),
    Experiment(
        "web-gaussian", "Web pages, Gaussian with variance 10, C = 5", 4, "web", "gaussian", 5.0, WEB,
        smo=(26.3, 44.1, 83.6, 156.7, 248.1, 581.0, 1214.0, 3863.5),
        chunking=(64.9, 110.4, 372.5, 545.4, 907.6, 3317.9, 6659.7, 23877.6),
        non_bound=(439, 544, 616, 914, 1118, 1780, 2300, 3720),
        bound=(43, 66, 90, 125, 172, 316, 419, 764),
        smo_exponent=1.7, chunking_exponent=2.0,
    ),
    Experiment(
        "separable", "Artificial, linearly separable, linear, C = 100", 5, "separable", "linear", 100.0, SEPARABLE,
        smo=(15.3, 33.4, 103.0, 186.8, 280.0),
        chunking=(10.4, 33.0, 108.3, 226.0, 374.1),
        non_bound=(275, 286, 299, 309, 329),
        bound=(0, 0, 0, 0, 0),
        smo_exponent=1.0, chunking_exponent=1.2,
        dense_table=6,
        smo_dense=(145.1, 345.4, 1118.1, 2163.7, 3293.9),
        chunking_dense=(11.7, 36.8, 117.9, 241.6, 397.0),
    ),
    Experiment(
        "noise-linear", "Artificial noise, linear, C = 0.1", 7, "noise", "linear", 0.1, NOISE,
        smo=(1.0, 3.5, 15.7, 67.6, 187.1),
        chunking=(6.4, 57.9, 593.8, 10353.3, None),
        non_bound=(162, 220, 264, 283, 293),
        bound=(263, 632, 1476, 4201, 9034),
        smo_exponent=1.8, chunking_exponent=3.2,
        dense_table=8,
        smo_dense=(6.0, 21.7, 99.3, 400.0, 1007.6),
        chunking_dense=(6.8, 62.1, 614.0, 10597.7, None),
    ),
    Experiment(
        "noise-gaussian", "Artificial noise, Gaussian with variance 10, C = 0.1", 9, "noise", "gaussian", 0.1, NOISE,
        smo=(5.6, 21.1, 131.4, 986.5, 4226.7),
        chunking=(5.8, 41.9, 635.7, 13532.2, None),
        non_bound=(22, 82, 75, 30, 48),
        bound=(476, 888, 1905, 4942, 9897),
        smo_exponent=2.2, chunking_exponent=3.4,
        dense_table=10,
        smo_dense=(19.8, 87.8, 554.6, 3957.2, 15743.8),
        chunking_dense=(6.8, 53.0, 729.3, 14418.2, None),
    ),
)  # fmt: skip
