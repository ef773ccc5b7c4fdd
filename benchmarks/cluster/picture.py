"""Draw a recorded fit: for each round the seconds of waiting for workers and of steps in this process.

python -m benchmarks.cluster.picture bench_out/cluster/rounds.json docs/images/rounds.png
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def main() -> None:
    """Read the record that `benchmarks.cluster replay` leaves, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", type=Path)
    parser.add_argument("picture", type=Path)
    args = parser.parse_args()
    batches = json.loads(args.record.read_text(encoding="utf-8"))
    rounds = [batch for batch in batches if batch["name"] == "rows"]
    number = np.arange(1, len(rounds) + 1)
    waited, before = (np.array([batch[name] for batch in rounds]) for name in ("waited", "before"))
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    axes.bar(number, waited, width=0.9, label="kernel rows, on workers")
    axes.bar(number, before, width=0.9, bottom=waited, label="choice and steps, in this process")
    axes.set(xlabel="round", ylabel="seconds", xlim=(0.4, len(rounds) + 0.6))
    axes.legend(frameon=False)
    figure.savefig(args.picture, dpi=110)


if __name__ == "__main__":
    main()
