"""Workers ended by SIGKILL: in a random round of many fits, and in every other phase; bytes against the formula.

Bytes: a round sends m (4 d + 16) to each worker (8 less where samples are stored by feature) and brings 8 n back; the
rows of working sets come once, d values each, as do some rows that show what all are like; the diagonal and error terms
once, 8 (2 q + 2) n. The certificate of a Gaussian SVM sends a places in doubt to all workers, 8 (d + 5) bytes each,
and the places and coefficients of support vectors, 16; back come 16 a bytes from each worker.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client

import widemargin
import widemargin.dask
from benchmarks.cluster.problems import cluster, two_classes
from benchmarks.cluster.results import add
from widemargin.dask.gram import ClusterGram
from widemargin.dask.rows import SAMPLED, Rows, RowsThere
from widemargin.dask.source import ClusterSource

ELSEWHERE = {"preparing": (Rows, "prepared"), "certifying": (ClusterSource, "recomputed")}


def measure(args: argparse.Namespace) -> None:
    """Count bytes, and end workers."""
    X, y = two_classes(args, 5000)
    with cluster(2) as client:
        add(args.out, "bytes", **count_bytes(client, X, y))
        kills(client, X, y, args)


def watch_calls(owner: Any, method: str, act: Callable[..., None]) -> Callable[[], None]:
    """Call `act(number of the call, *arguments)` before every call of a method; return what ends that."""
    plain, count = getattr(owner, method), [0]

    def watched(self: Any, *given: Any, **options: Any) -> Any:
        count[0] += 1
        act(count[0], *given)
        return plain(self, *given, **options)

    setattr(owner, method, watched)
    return lambda: setattr(owner, method, plain)


def kills(client: Client, X: Any, y: Any, args: argparse.Namespace) -> None:
    """End one of the workers at a random round of each fit, while preparing, while certifying, and while predicting."""
    rng, rows = np.random.default_rng(0), da.from_array(X, chunks=(len(X) // 4, -1))
    n_rounds, last = [0], [0.0]
    stop = watch_calls(ClusterGram, "add_rows", lambda number, *rest: n_rounds.__setitem__(0, number))
    began = time.perf_counter()
    plain = widemargin.dask.SVC(client=client).fit(rows, y).certificate_
    usual = time.perf_counter() - began
    stop()
    moments: list[tuple[str, Any, str, int]] = [
        ("rounds", ClusterGram, "add_rows", int(rng.integers(1, n_rounds[0] + 1))) for _ in range(args.fits)
    ]
    moments += [(phase, *where, 1) for phase, where in ELSEWHERE.items() for _ in range(max(1, args.fits // 7))]
    for fit, (phase, owner, method, chosen) in enumerate(moments):
        client.wait_for_workers(2, timeout=120)
        stop = watch_calls(
            owner, method, lambda number, *rest, c=chosen, f=fit: end(client, f) if number == c else None
        )
        began = time.perf_counter()
        found = widemargin.dask.SVC(client=client).fit(rows, y).certificate_
        last[0] = time.perf_counter() - began - usual
        stop()
        is_same = abs(found.objective - plain.objective) <= plain.tol * abs(plain.objective)
        add(args.out, f"losses while {phase}", held=float(found.holds and is_same), call=chosen, extra_seconds=last[0])
    model = widemargin.dask.SVC(client=client).fit(rows, y)
    expected, many = model.to_local().predict(X), da.from_array(np.tile(X, (20, 1)), chunks=(1000, -1))
    for fit in range(max(1, args.fits // 7)):
        client.wait_for_workers(2, timeout=120)
        labels = client.compute(model.predict(many))
        end(client, fit)
        held = np.array_equal(labels.result(timeout=300), np.tile(expected, 20))
        add(args.out, "losses while predicting", held=float(held))


def end(client: Client, which: int) -> None:
    """End a worker by SIGKILL."""
    pids = sorted(client.run(os.getpid).values())
    os.kill(pids[which % len(pids)], signal.SIGKILL)


def count_bytes(client: Client, X: Any, y: Any) -> dict[str, float]:
    """Return the bytes counted over those of the formula, which is linear in what a round moves."""
    rows: list[int] = []
    stop = watch_calls(ClusterGram, "add_rows", lambda number, index, *rest: rows.append(len(index)))
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
    return {"sent": certificate.bytes_sent / sent, "received": certificate.bytes_received / received}
