"""String kernels: speed beside other ways to train on k-mers, and accuracy on DNA and text.

    python -m benchmarks.strings DATA                 both parts; DATA is the folder of data sets
    python -m benchmarks.strings DATA --speed         training and prediction on windows of c-elegans-splice
    python -m benchmarks.strings DATA --accuracy      promoters, splice-junction, sms-spam, dna-gene-family
    python -m benchmarks.strings DATA --speed --windows 5000 --only linear

Every contestant gets the strings and returns decision values of new ones; time is all it needs in between, in seconds
and in seconds of CPU (user + system, all threads), which a busy machine disturbs less. Contestants that are not
installed (kmer-learn, strkernel) are left out. Windows overlap and lie in the order of the genome, so the test windows
are those that follow the training windows.
"""

from __future__ import annotations

import argparse
import csv
import io
import lzma
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC as TheirSVC
from sklearn.svm import LinearSVC

from benchmarks.timing import timed
from widemargin import SVC
from widemargin.kernels import BlendedSpectrum, GappedKmer, Mismatch, Spectrum, Subsequence

K = 6
C = 1e-4  # of 1e-4, 1e-3 and 1 the one with the best area under the curve: counts are large, so C is small
WARM_UP = 300  # strings of a fit before the clock starts: compiled functions are loaded, for the others caches warmed


def text_of(folder: Path, name: str) -> str:
    """A file of the data folder, decompressed."""
    return lzma.open(folder / name, "rt", encoding="utf-8").read()


def windows(folder: Path, first: int, count: int) -> tuple[list[str], np.ndarray]:
    """Windows around possible splice sites, and whether they are."""
    records = text_of(folder, "c-elegans-splice/C_elegans_acc_100000.fasta.xz").split(">")[
        1 + first : 1 + first + count
    ]
    heads, strings = zip(*(record.strip().split("\n", 1) for record in records), strict=True)
    return [string.replace("\n", "") for string in strings], np.array(
        [int(re.search(r"label=(-?1)", head).group(1)) for head in heads]  # type: ignore[union-attr]
    )


def with_counts(machine):
    """A machine of scikit-learn behind its own counting of k-mers."""
    return make_pipeline(CountVectorizer(analyzer="char", ngram_range=(K, K), lowercase=False), machine)


def contestants() -> dict[str, Callable]:
    """Machines by name, made when asked for."""
    return {
        "widemargin SVC(Spectrum)": lambda: SVC(kernel=Spectrum(K), C=C, class_weight="balanced"),
        "CountVectorizer + sklearn LinearSVC": lambda: with_counts(
            LinearSVC(C=C, class_weight="balanced", loss="hinge", max_iter=20_000)
        ),
        "CountVectorizer + sklearn LinearSVC, squared hinge": lambda: with_counts(
            LinearSVC(C=C, class_weight="balanced")
        ),
        "kmer-learn SpectrumEncoder + sklearn LinearSVC": kmer_learn,
        "CountVectorizer + sklearn SVC(linear)": lambda: with_counts(
            TheirSVC(kernel="linear", C=C, class_weight="balanced", cache_size=2000)
        ),
    }


def kmer_learn():
    """kmer-learn's encoder in C; its own LinearSVM offers no class weights."""
    from kmer.encoders import SpectrumEncoder  # type: ignore[import-not-found]
    from sklearn.preprocessing import FunctionTransformer

    encoder = SpectrumEncoder(k=K)
    return make_pipeline(
        FunctionTransformer(encoder.fit_transform), LinearSVC(C=C, class_weight="balanced", loss="hinge")
    )


def speed(folder: Path, n: int, only: str | None, repeats: int) -> None:
    """Train on n windows, predict the n/2 that follow."""
    strings, y = windows(folder, 0, n)
    new, labels = windows(folder, n, n // 2)
    print(f"{n} windows of {len(strings[0])} letters, k = {K}, C = {C:g}; {n // 2} new ones predicted")
    print(f"{'':<52}{'train s':>9}{'CPU':>8}{'predict':>9}{'CPU':>8}{'accuracy':>10}{'AUC':>8}")
    for name, make in contestants().items():
        if only and only not in name:
            continue
        try:
            machine = make()
        except ImportError:
            print(f"{name:<52}  not installed")
            continue
        make().fit(strings[:WARM_UP] + strings[-WARM_UP:], [-1, 1] * WARM_UP).decision_function(new[:10])
        rows = []
        for _ in range(repeats):
            fit, predict = timed(machine.fit, strings, y), timed(machine.decision_function, new)
            rows.append([fit.wall, fit.cpu, predict.wall, predict.cpu])
        values = predict.result
        times = np.median(rows, axis=0)
        accuracy, area = np.mean((values > 0) == (labels > 0)), roc_auc_score(labels, values)
        cells = f"{times[0]:>9.2f}{times[1]:>8.2f}{times[2]:>9.2f}{times[3]:>8.2f}{accuracy:>10.4f}{area:>8.4f}"
        print(f"{name:<52}{cells}", flush=True)


def promoters(folder: Path):
    rows = [line.split(",") for line in text_of(folder, "promoters/promoters.data.xz").splitlines() if line.strip()]
    return [row[2].strip() for row in rows], np.array([row[0] for row in rows]), LeaveOneOut()


def splice_junctions(folder: Path):
    rows = [line.split(",") for line in text_of(folder, "splice-junction/splice.data.xz").splitlines() if line.strip()]
    return [row[2].strip() for row in rows], np.array([row[0] for row in rows]), StratifiedKFold(5)


def messages(folder: Path):
    lines = text_of(folder, "sms-spam/SMSSpamCollection.xz").split("\n")
    rows = [line.split("\t", 1) for line in lines if line]
    return [text for _, text in rows], np.array([label for label, _ in rows]), StratifiedKFold(5)


def gene_families(folder: Path):
    text = text_of(folder, "dna-gene-family/chimp_data.txt.xz")
    rows = list(csv.DictReader(io.StringIO(text), delimiter="\t"))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)  # the file has related genes side by side
    return [row["sequence"] for row in rows], np.array([row["class"] for row in rows]), folds


TASKS = {
    "promoters, leave one out": (
        promoters,
        [
            Spectrum(3, normalize=True),
            BlendedSpectrum(5, normalize=True),
            Mismatch(5, 1, normalize=True),
            GappedKmer(4, 3, normalize=True),
            Subsequence(4, 0.5, normalize=True),
        ],
    ),
    "splice-junction, 5 folds": (
        splice_junctions,
        [Spectrum(4, normalize=True), Mismatch(6, 1, normalize=True), GappedKmer(4, 2, normalize=True)],
    ),
    "sms-spam, 5 folds": (messages, [Spectrum(4, normalize=True), BlendedSpectrum(5, normalize=True)]),
    "dna-gene-family, 5 folds": (
        gene_families,
        [Spectrum(6, normalize=True), Spectrum(6, alphabet="dna", normalize=True), GappedKmer(5, 2, normalize=True)],
    ),
}


def accuracy(folder: Path, only: str | None) -> None:
    """Share of strings classified correctly, each by a machine that has not seen it; C = 10."""
    print(f"{'':<28}{'kernel':<82}{'accuracy':>9}{'s':>7}")
    for name, (read, kernels) in TASKS.items():
        if only and only not in name:
            continue
        strings, y, folds = read(folder)
        for kernel in kernels:
            run = timed(cross_val_predict, SVC(kernel=kernel, C=10.0), strings, y, cv=folds)
            print(f"{name:<28}{kernel!r:<82}{np.mean(run.result == y):>9.4f}{run.wall:>7.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path, help="folder of data sets")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--accuracy", action="store_true")
    parser.add_argument("--windows", type=int, default=20_000, help="windows to train on")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", help="contestants or sets whose name contains this")
    options = parser.parse_args()
    both = options.speed == options.accuracy
    if options.speed or both:
        speed(options.data, options.windows, options.only, options.repeats)
    if options.accuracy or both:
        accuracy(options.data, options.only)


if __name__ == "__main__":
    main()
