"""String kernels counted the slow way, by writing out every feature: the oracle of the fast ones."""

from collections import Counter
from itertools import combinations, product

COMPLEMENT = {"A": "T", "C": "G", "G": "C", "T": "A"}


def other_strand(string):
    return "".join(COMPLEMENT.get(letter, letter) for letter in reversed(string))


def substrings(string, k, letters=None):
    found = (string[i : i + k] for i in range(len(string) - k + 1))
    return [u for u in found if letters is None or set(u) <= set(letters)]


def spectrum(string, k, letters=None):
    return Counter(substrings(string, k, letters))


def blended(string, k, shortest, decay):
    return {u: decay ** len(u) * n for l in range(shortest, k + 1) for u, n in spectrum(string, l).items()}


def mismatch(string, k, m, letters):
    found = Counter()
    for v in substrings(string, k, letters):
        for u in product(letters, repeat=k):
            found[u] += sum(a != b for a, b in zip(u, v, strict=True)) <= m
    return found


def gapped(string, k, gaps, letters=None):
    found = Counter()
    for window in substrings(string, k + gaps):
        for places in combinations(range(k + gaps), k):
            spelled = "".join(window[i] for i in places)
            if letters is None or set(spelled) <= set(letters):
                found[places, spelled] += 1
    return found


def subsequence(string, k, decay):
    found = Counter()
    for places in combinations(range(len(string)), k):
        found["".join(string[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
    return found


def dot(one, two):
    return float(sum(value * two.get(u, 0) for u, value in one.items()))


def cosine(one, two):
    lengths = (dot(one, one) * dot(two, two)) ** 0.5
    return dot(one, two) / lengths if lengths > 0 else 0.0
