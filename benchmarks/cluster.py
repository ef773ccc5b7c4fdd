"""A local cluster of processes with one thread each: workers that end, bytes against the formula, and the price of it.

    python -m benchmarks.cluster                          20 fits with a worker ended at a random round; bytes
    python -m benchmarks.cluster --speed --n 20000        Dask 1 x 1 over local with one thread; 2 x 1 over 1 x 1
    python -m benchmarks.cluster --speed --data FILE.npz  the same on arrays X, y of a file (such as covtype)

Bytes: a round sends m (4 d + 16) to each worker (8 less where samples are stored by feature) and brings 8 n back; the
rows of working sets come once, d values each, as do some rows that show what all are like; the diagonal and error terms
once, 8 (2 q + 2) n. The certificate of a Gaussian SVM sends a places in doubt to all workers, 8 (d + 5) bytes each,
and the places and coefficients of support vectors, 16; back come 16 a bytes from each worker.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import time
from collections.abc import Callable
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster
from sklearn.datasets import make_classification

import widemargin
import widemargin.dask
from widemargin.dask.gram import ClusterGram
from widemargin.dask.rows import SAMPLED, RowsThere
from widemargin.dask.source import ClusterSource


def data_of(args: argparse.Namespace) -> tuple[Any, Any]:
    """Samples of a file, or generated ones of two classes that overlap."""
    if args.data:
        held = np.load(args.data)
        chosen = np.random.default_rng(0).permutation(len(held["y"]))[: args.n]
        return held["X"][chosen], held["y"][chosen]
    return make_classification(args.n, 20, n_informative=10, flip_y=0.1, class_sep=0.5, random_state=0)


def watch_rounds(act: Callable[[int, int], None]) -> Callable[[], None]:
    """Call `act(round, rows)` before every round on the cluster; returns what ends that."""
    plain = ClusterGram.add_rows
    count = [0]

    def add_rows(self: ClusterGram, index: Any, *given: Any, **options: Any) -> None:
        count[0] += 1
        act(count[0], len(index))
        plain(self, index, *given, **options)

    ClusterGram.add_rows = add_rows  # type: ignore[method-assign]
    return lambda: setattr(ClusterGram, "add_rows", plain)


def kills(client: Client, X: Any, y: Any, n_fits: int) -> None:
    """End one of the workers at a random round of each fit."""
    rng, held, extra = np.random.default_rng(0), 0, []
    rows: list[int] = []
    began, stop = time.perf_counter(), watch_rounds(lambda number, moved: rows.append(moved))
    plain = widemargin.dask.SVC(client=client).fit(X, y).certificate_
    usual = time.perf_counter() - began
    stop()
    for fit in range(n_fits):
        client.wait_for_workers(2, timeout=60)
        chosen = int(rng.integers(1, len(rows) + 1))

        def end(number: int, moved: int, chosen: int = chosen, fit: int = fit) -> None:
            if number == chosen:
                pids = sorted(client.run(os.getpid).values())
                os.kill(pids[fit % len(pids)], signal.SIGKILL)

        stop = watch_rounds(end)
        began = time.perf_counter()
        found = widemargin.dask.SVC(client=client).fit(X, y).certificate_
        extra.append(time.perf_counter() - began - usual)
        stop()
        is_same = abs(found.objective - plain.objective) <= plain.tol * abs(plain.objective)
        held += found.holds and is_same
        print(f"fit {fit + 1:2d}: worker ended in round {chosen} of {len(rows)}, holds {found.holds}", flush=True)
    print(f"{held} of {n_fits} certificates hold; median {statistics.median(extra):.1f} s longer than the first fit")


def count_bytes(client: Client, X: Any, y: Any) -> None:
    """Compare the bytes counted with the formula; linear in what a round moves."""
    import dask.array as da

    rows: list[int] = []
    stop = watch_rounds(lambda number, moved: rows.append(moved))
    machine, (n, d) = widemargin.dask.SVC(client=client), X.shape
    seen: list[int] = []
    fetch = RowsThere._fetch

    def counted(self: RowsThere, index: Any) -> None:
        seen.append(len(index))
        fetch(self, index)

    proven: list[tuple[int, int]] = []
    recompute = ClusterSource.recomputed

    def recomputed(self: ClusterSource, coefficients: Any, index: Any, at: Any) -> Any:
        proven.append((int(np.count_nonzero(coefficients)), n if at is None else len(at)))
        return recompute(self, coefficients, index, at)

    ClusterSource.recomputed = recomputed  # type: ignore[method-assign]
    RowsThere._fetch = counted  # type: ignore[method-assign]
    machine.fit(da.from_array(X, chunks=(len(X) // 4, -1)), y)
    RowsThere._fetch, ClusterSource.recomputed = fetch, recompute  # type: ignore[method-assign]
    stop()
    certificate = machine.certificate_
    norms = 8 if d > 24 else 0  # samples of few features are stored by feature, without norms
    sent = certificate.workers * sum(rows) * (4 * d + norms + 8) + 8 * sum(seen)
    sent += sum(16 * support + certificate.workers * at * 8 * (d + 5) for support, at in proven)
    received = (
        sum(certificate.workers * 16 * at for _, at in proven)
        + len(rows) * 8 * n
        + (sum(seen) + SAMPLED) * d * X.itemsize
        + 8 * 6 * n
    )
    for name, counted_bytes, formula in (
        ("sent", certificate.bytes_sent, sent), ("received", certificate.bytes_received, received),
    ):  # fmt: skip
        print(f"{name}: {counted_bytes:,} bytes, formula {formula:,}, ratio {counted_bytes / formula:.3f}")


def speed(X: Any, y: Any, repeats: int) -> None:
    """Interleaved times: local with one thread, and clusters of one and of two workers with one thread."""
    seconds: dict[str, list[float]] = {"local": [], "1 x 1": [], "2 x 1": []}
    os.environ["OMP_NUM_THREADS"] = "1"  # the driver has one thread as well
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as one,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as two,
        Client(one, set_as_default=False) as first,
        Client(two, set_as_default=False) as second,
    ):
        machines = {
            "local": widemargin.SVC(n_jobs=1),
            "1 x 1": widemargin.dask.SVC(client=first),
            "2 x 1": widemargin.dask.SVC(client=second),
        }
        for turn in range(repeats + 1):  # the first compiles
            for name, machine in machines.items():
                began = time.perf_counter()
                machine.fit(X, y)
                if turn:
                    seconds[name].append(time.perf_counter() - began)
                    print(f"{name}: {seconds[name][-1]:.2f} s", flush=True)
        print(machines["1 x 1"].certificate_)
    median = {name: statistics.median(values) for name, values in seconds.items()}
    print(f"1 x 1 over local: {median['1 x 1'] / median['local']:.2f}")
    print(f"1 x 1 over 2 x 1: {median['1 x 1'] / median['2 x 1']:.2f}")


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=5000)
    parser.add_argument("--data", help=".npz file with arrays X and y")
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    X, y = data_of(args)
    # else a LocalCluster gives a worker up that is not back within 15 s, which busy machines need
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    if args.speed:
        speed(X, y, args.repeats)
        return
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        count_bytes(client, X, y)
        kills(client, X, y, args.fits)


if __name__ == "__main__":
    main()
