"""What a server that answers one row at a time waits for and keeps: start, latency, eight threads, memory.

    python -m benchmarks.serving

Three models are fitted, saved with `widemargin.io.save`, and used in new processes: SVC with two classes, SVC with ten
classes, LinearSVC. A new process imports, loads the file, answers single rows, and then answers them in eight threads
that share the model. scikit-learn's SVM, fitted to the same data and loaded by joblib, answers the same rows. Functions
are compiled before. Every figure is the median over processes. Those of one thread are CPU seconds, which other work on
the machine disturbs little; those of eight threads are seconds of the clock. Memory is the resident set of the process.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPEATS = 5  # processes per figure
THREADS = 8
SECONDS = 2.0  # that threads answer rows for
ROOT = Path(__file__).resolve().parents[1]

FIT = """
import joblib, sklearn.svm, widemargin
from sklearn.datasets import load_digits, make_classification
from widemargin.io import save
two = make_classification(5000, 20, n_informative=10, flip_y=0.05, random_state=0)
sets = {"two": ("SVC", two), "ten": ("SVC", load_digits(return_X_y=True)), "linear": ("LinearSVC", two)}
for name, (kind, (X, y)) in sets.items():
    ours = getattr(widemargin, kind)().fit(X, y)
    ours.predict(X[:1]), ours.decision_function(X[:1])
    save(ours, f"{folder}/{name}.model")
    joblib.dump(getattr(sklearn.svm, kind)().fit(X, y), f"{folder}/{name}.joblib")
    joblib.dump(X[:100], f"{folder}/{name}.rows")
    answers[name] = [len(getattr(ours, "support_", ())), X.shape[1]]
"""
SERVE = """
import threading

began = time.process_time()
if is_ours:
    from widemargin.io import load
else:
    import sklearn.svm
    from joblib import load
imported = time.process_time()
model = load(f"{folder}/{name}.{'model' if is_ours else 'joblib'}")
loaded = time.process_time()
import joblib
rows = [row[None] for row in joblib.load(f"{folder}/{name}.rows")]

def cost(call, i):
    began = time.thread_time()
    call(rows[i % 100])
    return time.thread_time() - began

answers = {"import": imported - began, "load": loaded - imported}
began = time.process_time()
model.predict(rows[0])
answers["first"] = time.process_time() - began
for method in ("predict", "decision_function"):
    times = sorted(cost(getattr(model, method), i) for i in range(2000))
    answers[method], answers[method + " 99"] = times[1000], times[1980]

times, start = [[] for _ in range(n_threads)], threading.Barrier(n_threads + 1)

def serve(own):
    start.wait()
    end = time.perf_counter() + seconds
    while (now := time.perf_counter()) < end:
        model.predict(rows[len(own) % 100])
        own.append(time.perf_counter() - now)

threads = [threading.Thread(target=serve, args=(own,)) for own in times]
for thread in threads:
    thread.start()
start.wait()
wall, cpu = time.perf_counter(), time.process_time()
for thread in threads:
    thread.join()
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
all_times = sorted(sum(times, []))
n = len(all_times)
answers |= {"calls": n / wall, "calls per CPU": n / cpu, "50": all_times[n // 2], "99": all_times[int(0.99 * n)]}
"""
MEMORY = """
import gc
import psutil

def note(what):
    gc.collect()
    answers[what] = psutil.Process().memory_info().rss / 1e6

import joblib, sklearn.svm
from sklearn.datasets import make_classification
note("sklearn.svm imported")
from widemargin.io import load
model = load(f"{folder}/two.model")
note("widemargin imported, model loaded")
model.predict(joblib.load(f"{folder}/two.rows")[:1])
note("one row predicted")
del model
from widemargin import SVC
X, y = make_classification(5000, 20, n_informative=10, flip_y=0.05, random_state=0)
SVC().fit(X, y)
note("fitted once, model dropped")
for n_fits in (20, 40):
    for _ in range(20):
        model = SVC().fit(X, y)
    note(f"fitted {n_fits} times more, one model kept")
"""
FRAME = "import json, sys, time\nanswers = {{}}\n{settings}\n{script}\njson.dump(answers, sys.stdout)"


def run(script: str, **settings: object) -> dict[str, float]:
    """What a script measures in a new process."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    given = "\n".join(f"{name} = {value!r}" for name, value in settings.items())
    code = FRAME.format(settings=given, script=script)
    env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def median(script: str, **settings: object) -> dict[str, float]:
    """Medians over processes."""
    runs = [run(script, **settings) for _ in range(REPEATS)]
    return {what: statistics.median(one[what] for one in runs) for what in runs[0]}


def table(title: str, rows: list[tuple[str, dict[str, float]]], columns: dict[str, tuple[str, float, str]]) -> None:
    """Print a table; a column is its heading, the unit its figures are multiplied to, and a format."""
    print(f"\n| {title} | " + " | ".join(heading for heading, _, _ in columns.values()) + " |")
    print("|---|" + "---|" * len(columns))
    for label, found in rows:
        cells = (f"{found[what] * unit:{style}}" for what, (_, unit, style) in columns.items())
        print(f"| {label} | " + " | ".join(cells) + " |")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        sizes = run(FIT, folder=folder)
        both = [(name, is_ours) for name in sizes for is_ours in (True, False)]

        def label(name: str, is_ours: bool) -> str:
            kind = {"two": "SVC, 2 classes", "ten": "SVC, 10 classes", "linear": "LinearSVC"}[name]
            return ("" if is_ours else "scikit-learn's ") + kind

        print("support vectors, features:", {label(name, True): size for name, size in sizes.items()})
        options = {"folder": folder, "n_threads": THREADS, "seconds": SECONDS}
        rows = [(label(*key), median(SERVE, name=key[0], is_ours=key[1], **options)) for key in both]
        ms, us, count = (1e3, ".1f"), (1e6, ".0f"), (1.0, ",.0f")
        table("a new process", rows, {"import": ("import, ms", *ms), "load": ("load, ms", *ms),
                                      "first": ("first `predict`, ms", *ms)})  # fmt: skip
        table("later calls", rows, {"predict": ("`predict`, us", *us), "predict 99": ("99 %", *us),
                                    "decision_function": ("`decision_function`, us", *us),
                                    "decision_function 99": ("99 %", *us)})  # fmt: skip
        table(f"{THREADS} threads", rows, {"calls": ("calls per second", *count),
                                           "calls per CPU": ("per second of CPU", *count),
                                           "50": ("median, us", *us), "99": ("99 %, us", *us)})  # fmt: skip
        kept = median(MEMORY, folder=folder)
        table("memory", [(what, {"MB": size}) for what, size in kept.items()], {"MB": ("MB", 1.0, ".0f")})


if __name__ == "__main__":
    main()
