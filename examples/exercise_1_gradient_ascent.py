"""Exercise 1: gradient ascent for the maximal margin, its conditions, and what the order of the points is worth.

Separable points are made up, the hard-margin machine is trained one multiplier at a time (kernel-Adatron), the
Karush-Kuhn-Tucker conditions are printed, and the margin is drawn against the number of passes for several orders.

    python examples/exercise_1_gradient_ascent.py [FOLDER FOR THE PICTURE]

See  Cristianini & Shawe-Taylor (2000), section 7.7, exercise 1; Table 7.1; Remarks 7.2, 7.6 and 7.8.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from widemargin import SVC, margins
from widemargin.solvers.reference import Adatron, Coordinate
from widemargin.training.trace import Trace

TOL = 1e-3
ORDERS = {
    "sequential (Table 7.1)": Adatron("sequential"),
    "sequential, omega = 1.5": Adatron("sequential", omega=1.5),
    "violators only": Adatron("violators"),
    "non-bound first": Adatron("nonbound"),
    "ascending alpha": Adatron("ascending"),
    "largest share of the gap": Adatron("gap"),
    "random": Coordinate("random"),
}


def separable_points(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds on either side of a line, with an empty strip between them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    side = np.where(X @ [1.0, 0.5] > 0.2, 1, -1)
    return X + 0.3 * np.outer(side, [0.9, 0.45]), side


def print_conditions(machine: SVC, X: np.ndarray, y: np.ndarray) -> float:
    """alpha_i [y_i f(x_i) - 1] = 0, with alpha_i >= 0 and y_i f(x_i) >= 1; returns the largest product."""
    alpha = np.zeros(len(y))
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    functional = margins(machine, X, y).functional
    print(f"{'point':>5} {'alpha':>9} {'y f(x)':>8} {'alpha (y f - 1)':>16}")
    for i in np.argsort(-alpha)[:8]:
        print(f"{i:>5} {alpha[i]:>9.4f} {functional[i]:>8.4f} {alpha[i] * (functional[i] - 1.0):>16.1e}")
    print(f"... and {np.count_nonzero(alpha == 0)} points with alpha = 0, of which the closest has y f(x) = "
          f"{functional[alpha == 0].min():.4f}")  # fmt: skip
    return float(np.abs(alpha * (functional - 1.0)).max())


def main(folder: str = "exercise_out", n: int = 120) -> dict[str, int]:
    """Run the exercise; returns the passes that each order needed."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    X, y = separable_points(n)
    figure, ax = plt.subplots(figsize=(7.0, 4.2), dpi=120)
    passes: dict[str, int] = {}
    for name, solver in ORDERS.items():
        trace = Trace()
        machine = SVC(kernel="linear", C=np.inf, solver=trace.of(solver), tol=TOL).fit(X, y)
        passes[name] = int(trace.passes[-1])
        ax.plot(trace.passes, trace.margin, label=f"{name}: {passes[name]} passes", linewidth=1.3)
        if name.startswith("sequential (T"):
            worst = print_conditions(machine, X, y)
            print(f"largest |alpha (y f - 1)|: {worst:.1e};  {machine.status_.value}\n")
        found = margins(machine, X, y)
        print(
            f"{name:<26} {passes[name]:>6} passes {machine.n_iter_[0]:>8} steps   margin {found.geometric_margin:.5f}"
        )
    ax.set(
        xlabel="passes",
        ylabel="smallest y f(x) / |w|",
        xscale="symlog",
        title="Margin while training, by order of the points",
    )
    ax.set_ylim(bottom=-0.5)
    ax.legend(fontsize=8)
    figure.tight_layout()
    path = Path(folder) / "exercise_1_margin.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)
    print(f"\n{path}")
    return passes


if __name__ == "__main__":
    main(*sys.argv[1:2])
