"""The optimal margin classifier of the CS229 notes: three support vectors, and what one outlier does.

Left: separable points, the widest margin, the points with alpha > 0 ringed; functional and geometric margins are
printed. Right: one outlier makes the boundary swing; a finite C holds it.

    python examples/optimal_margin.py [FOLDER FOR THE PICTURE]

See  Ng & Ma, CS229 lecture notes, part V, sections 4-8 (figures of the optimal margin and of the outlier).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from widemargin import SVC, margins
from widemargin.plots import plot_boundary


def points(seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds with a gap."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(14, 2)) * 0.7 + [1.6, 1.6], rng.normal(size=(14, 2)) * 0.7 - [1.6, 1.6]])
    return X, np.repeat([1, -1], 14)


def main(folder: str = "exercise_out") -> tuple[float, float, float]:
    """Draw; returns the margins of the clean data, of the hard margin with an outlier, and of the soft one."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    X, y = points()
    outlier = np.array([-0.9, 1.9])  # of the lower class, up on the left
    X_out, y_out = np.vstack([X, outlier]), np.append(y, -1)
    fits = [
        ("hard margin", SVC(kernel="linear", C=np.inf, solver="platt").fit(X, y), X, y),
        ("hard margin, one outlier", SVC(kernel="linear", C=np.inf, solver="platt").fit(X_out, y_out), X_out, y_out),
        ("C = 0.1, one outlier", SVC(kernel="linear", C=0.1, solver="platt").fit(X_out, y_out), X_out, y_out),
    ]
    figure, axes = plt.subplots(1, 3, figsize=(13.0, 4.2), dpi=110)
    widths = []
    for ax, (title, machine, samples, labels) in zip(axes, fits, strict=True):
        plot_boundary(machine, samples, labels, ax=ax).get_legend().remove()
        found = margins(machine, samples, labels)
        widths.append(1.0 / found.weight_norm)
        ax.set_title(f"{title}: 1 / |w| = {widths[-1]:.2f}", fontsize=10)
        print(f"{title:<26} functional margin {found.functional_margin:+.4f}, "
              f"geometric margin {found.geometric_margin:+.4f}, 1/|w| {widths[-1]:.4f}, "
              f"support vectors {len(machine.support_)}")  # fmt: skip
    figure.tight_layout()
    path = Path(folder) / "optimal_margin.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)
    print(path)
    return widths[0], widths[1], widths[2]


if __name__ == "__main__":
    main(*sys.argv[1:2])
