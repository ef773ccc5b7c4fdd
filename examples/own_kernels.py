"""Kernels of your own, from one line to a class: the code of docs/your-own-kernel.md, piece by piece.

python examples/own_kernels.py
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from widemargin import SVC, check_kernel
from widemargin.kernels import BlockKernel, Gaussian, Intersection, Linear, PairKernel, Spectrum

# A function of two sets of samples
X, y = load_digits(return_X_y=True)
train, test = slice(0, 500), slice(500, 1000)


def squared_products(A, B):
    """(x'z + 1)^2 for all pairs of rows of A and B."""
    return (A @ B.T + 1.0) ** 2


machine = SVC(kernel=squared_products).fit(X[train], y[train])
print("block function     ", machine.score(X[test], y[test]))


# A function of two samples
def overlap(x, z):
    total = 0.0
    for j in range(len(x)):
        total += min(x[j], z[j])
    return total


machine = SVC(kernel=PairKernel(overlap)).fit(X[train], y[train])
print("pair function      ", machine.score(X[test], y[test]))

# Samples that are no vectors: bags of words as dicts
bags = [{"kernel": 2, "dual": 1}, {"margin": 1, "kernel": 1}, {"goal": 3}, {"match": 1, "goal": 1}]
topics = ["svm", "svm", "football", "football"]


def words_in_common(a, b):
    return float(sum(n * b.get(word, 0) for word, n in a.items()))


machine = SVC(kernel=PairKernel(words_in_common)).fit(bags, topics)
print("dicts              ", machine.predict([{"dual": 1, "margin": 1}, {"match": 2}]).tolist())


# Graphs: how many nodes of each degree, neighbours' degrees included
def degree_pairs(graph):
    """How often an edge joins nodes of degrees p and q; a graph is a dict from node to its neighbours."""
    found: dict[tuple[int, int], int] = {}
    for node, neighbours in graph.items():
        for other in neighbours:
            pair = len(graph[node]), len(graph[other])
            found[pair] = found.get(pair, 0) + 1
    return found


def compare_graphs(A, B):
    left, right = [degree_pairs(graph) for graph in A], [degree_pairs(graph) for graph in B]
    return np.array([[words_in_common(a, b) for b in right] for a in left])


def ring(n):
    return {i: [(i - 1) % n, (i + 1) % n] for i in range(n)}


def star(n):
    return {0: list(range(1, n))} | {i: [0] for i in range(1, n)}


graphs = [make(n) for n in range(4, 10) for make in (ring, star)]
machine = SVC(kernel=compare_graphs).fit(graphs, ["ring", "star"] * 6)
print("graphs             ", machine.predict([ring(20), star(20)]).tolist())

# Tables with columns of different kinds
people = pd.DataFrame(
    {
        "age": [23, 25, 31, 45, 52, 60, 28, 49],
        "city": ["Oslo", "Oslo", "Rome", "Rome", "Oslo", "Rome", "Rome", "Oslo"],
        "hobby": ["chess", "chess", "ski", "golf", "golf", "golf", "ski", "chess"],
    }
)
bought = [1, 1, 1, 0, 0, 0, 1, 0]


def alike(A, B):
    """A Gaussian of the ages, and a share for each word in common."""
    years = A["age"].to_numpy()[:, None] - B["age"].to_numpy()[None, :]
    same = sum((A[name].to_numpy()[:, None] == B[name].to_numpy()[None, :]) * 0.5 for name in ("city", "hobby"))
    return np.exp(-((years / 10.0) ** 2)) + same


machine = SVC(kernel=alike, C=10.0).fit(people, bought)
print("table              ", machine.score(people, bought))

# Kernels made of kernels
kernel = Gaussian(gamma=0.001) + 0.001 * Linear() * Intersection()
machine = SVC(kernel=kernel).fit(X[train], y[train])
print("sum and product    ", machine.score(X[test], y[test]))

initials = BlockKernel(lambda A, B: np.array([[float(a[0] == b[0]) for b in B] for a in A]))
machine = SVC(kernel=Spectrum(k=2) + initials).fit(["anna", "alan", "bert", "bob"], [0, 0, 1, 1])
print("strings and more   ", machine.predict(["adam", "bruno"]).tolist())

# Is it a kernel?
print(check_kernel(alike, people))
print(check_kernel("sigmoid", X[:200] / 16.0, gamma=1.0, coef0=-5.0))

# What happens if it is none
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    machine = SVC(kernel="sigmoid", gamma=1.0, coef0=-5.0).fit(X[:200] / 16.0, y[:200] > 4)
print("status             ", machine.status_.name, "-", len(caught), "warning")
