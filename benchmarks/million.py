"""One fit of a million rows within 6 GiB: killed once, resumed from its checkpoint, certified. See docs/large-data.md.

    python -m benchmarks.million --out bench_out/million                  # 1,000,000 rows of 28 features
    python -m benchmarks.million --rows 50000 --kill-after 5 --every 1    # a trial

The rows are generated: 28 standard normal features as in HIGGS, of which eight matter, P(y = 1 | x) a sigmoid of a
smooth function, so that the best possible rule errs on 14 % of new samples. They lie on disk in float32 and are
read as np.memmap. The fit runs in a process of its own; this one samples its memory (RssAnon of /proc: without pages of
the file, which the system may drop) every 0.1 s, and kills it by SIGKILL once --kill-after seconds have passed and a
checkpoint is there. A second process goes on. Both, one after the other, are counted in the time.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

FEATURES, SEED, PART = 28, 2014, 50_000
STEEPNESS = 2.0  # of the sigmoid: the best rule errs on 14 %
TEST_ROWS = 20_000
SAMPLED_EVERY = 0.1  # seconds


def generated(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return rows, labels and the error of the best rule on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, FEATURES), np.float32)
    x = X[:, :8].astype(np.float64)
    value = (
        x[:, 0] * x[:, 1]
        + 0.7 * (x[:, 2] ** 2 - 1.0)
        + x[:, 3]
        + np.sin(2.0 * x[:, 4])
        + 0.5 * x[:, 5] * x[:, 6]
        + 0.5 * x[:, 7]
    )
    p = 1.0 / (1.0 + np.exp(-STEEPNESS * value))
    return X, np.where(rng.random(n) < p, 1.0, -1.0), float(np.minimum(p, 1.0 - p).mean())


def write_rows(folder: Path, n: int) -> float:
    """Write rows to X.float32 and labels to y.npy, some at a time; return the error of the best rule."""
    labels, best = [], []
    with open(folder / "X.float32", "wb") as stream:
        for number, start in enumerate(range(0, n, PART)):
            X, y, error = generated(min(PART, n - start), SEED + number)
            X.tofile(stream)
            labels.append(y)
            best.append(error)
    np.save(folder / "y.npy", np.concatenate(labels))
    return float(np.mean(best))


def fit(folder: Path, C: float, cache: float, every: float) -> None:
    """The process that trains; it goes on from a checkpoint if there is one."""
    from widemargin import SVC
    from widemargin.training import checkpoint

    checkpoint.EVERY = every
    y = np.load(folder / "y.npy")
    X = np.memmap(folder / "X.float32", np.float32, "r", shape=(len(y), FEATURES))
    model = SVC(C=C, gamma=1 / FEATURES, cache_size=cache, checkpoint=folder / "checkpoints", verbose=2)
    began = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - began
    test, answers, _ = generated(TEST_ROWS, SEED - 1)
    certificate = model.certificate_
    facts = {
        "holds": certificate.holds, "violation": certificate.violation, "relative_gap": certificate.gap,
        "dual": certificate.dual, "n_support": len(model.support_), "n_free": certificate.n_free,
        "steps": int(model.n_iter_[0]), "rows": certificate.rows_computed, "status": model.status_.name,
        "fit_seconds": seconds, "test_error": float(np.mean(model.predict(test) != answers)),
    }  # fmt: skip
    (folder / "answer.json").write_text(json.dumps(facts))


def watched(command: list[str], folder: Path, kill_after: float | None, began: float) -> tuple[list[Any], int]:
    """Run a process; return (second, megabytes) of its anonymous memory and its exit code."""
    process = subprocess.Popen(command)
    memory, started = [], time.perf_counter()
    while process.poll() is None:
        memory.append((round(time.perf_counter() - began, 2), anonymous_megabytes(process.pid)))
        late = kill_after is not None and time.perf_counter() - started > kill_after
        if late and any((folder / "checkpoints").glob("*.checkpoint")):
            process.send_signal(signal.SIGKILL)
        time.sleep(SAMPLED_EVERY)
    return memory, process.wait()


def anonymous_megabytes(process: int) -> float:
    """Return the anonymous memory of a process in MiB; 0 once it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon:")) / 1024


def draw(memory: list[list[Any]], path: Path) -> None:
    """Memory against time, one line per process."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    for part, name in zip(memory, ("until it was killed", "resumed")):
        seconds, megabytes = np.array(part).T
        axes.plot(seconds / 60, megabytes / 1024, label=name)
    axes.set(xlabel="minutes", ylabel="anonymous memory, GiB", ylim=(0, None))
    axes.legend(frameon=False)
    figure.savefig(path, dpi=110)


def table(facts: dict[str, Any]) -> str:
    """The result as lines of Markdown."""
    rows = {
        "rows x features": f"{facts['rows_given']:,} x {FEATURES}",
        "minutes, both processes": f"{facts['seconds'] / 60:.1f}",
        "killed after minutes": f"{facts['killed_after'] / 60:.1f}",
        "peak anonymous memory": f"{facts['peak_mb'] / 1024:.2f} GiB",
        "certificate": "holds" if facts["holds"] else "does not hold",
        "largest violation": f"{facts['violation']:.3e}",
        "relative gap": f"{facts['relative_gap']:.2e}",
        "support vectors": f"{facts['n_support']:,} ({facts['n_free']:,} free)",
        "error on new samples": f"{facts['test_error']:.2%} (best possible {facts['best_error']:.2%})",
        "steps / kernel rows after the kill": f"{facts['steps']:,} / {facts['rows']:,}",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--cache", type=float, default=1500.0, help="cache_size, megabytes")
    parser.add_argument("--kill-after", type=float, default=300.0, help="seconds; 0: not at all")
    parser.add_argument("--every", type=float, default=30.0, help="seconds between checkpoints")
    parser.add_argument("--out", type=Path, default=Path("bench_out/million"))
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)  # the process inside
    options = parser.parse_args()
    folder = options.out
    if options.train:
        fit(folder, options.C, options.cache, options.every)
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    for old in (folder / "checkpoints").glob("*.checkpoint"):
        old.unlink()
    best_error = write_rows(folder, options.rows)
    own = [f"--{name}={getattr(options, name)}" for name in ("rows", "C", "cache", "every", "out")]
    command = [sys.executable, "-m", "benchmarks.million", "--train", *own]
    began = time.perf_counter()
    memory, killed_after = [], 0.0
    if options.kill_after:
        part, code = watched(command, folder, options.kill_after, began)
        memory.append(part)
        if code != -signal.SIGKILL:
            raise SystemExit(
                f"The first process ended by itself (exit code {code}) before the kill: lower --kill-after."
            )
        killed_after = time.perf_counter() - began
    part, code = watched(command, folder, None, began)
    memory.append(part)
    if code:
        return code
    facts = json.loads((folder / "answer.json").read_text()) | {
        "rows_given": options.rows, "C": options.C, "cache_size": options.cache, "best_error": best_error,
        "seconds": time.perf_counter() - began, "killed_after": killed_after,
        "peak_mb": max(megabytes for part in memory for _, megabytes in part),
    }  # fmt: skip
    (folder / "million.json").write_text(json.dumps(facts | {"memory": memory}))
    (folder / "million.md").write_text(table(facts))
    draw(memory, folder / "million.png")
    print(table(facts))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
