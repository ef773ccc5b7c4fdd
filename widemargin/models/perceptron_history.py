"""The state of a perceptron: its mistakes, and the number of samples it survived after each.

    v_0 = 0;  mistake number k on sample i:  v_k = v_(k-1) + y_i phi(x_i);  c_k = samples seen until the next mistake

Three models follow from one history (Freund & Schapire 1999, Large margin classification using the perceptron
algorithm, Machine Learning 37):

    last       v_K' phi(x)                        the perceptron of Rosenblatt
    averaged   sum_k c_k v_k' phi(x) / sum_k c_k     = sum_j (sum_(k >= j) c_k) y_j k(x_j, x) / sum_k c_k
    voted      sum_k c_k sign(v_k' phi(x)) / sum_k c_k
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.linalg.arrays import Vector


@dataclass
class History:
    """Mistakes of one two-class model in the order in which they were made.

    Attributes
    ----------
    sample : number of the sample of each mistake
    sign : its label, +1 or -1
    survival : samples seen with the vector that resulted from the mistake, that sample included
    """

    sample: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    sign: Vector = field(default_factory=lambda: np.empty(0))
    survival: Vector = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.sample)

    def learn(self, K: NDArray, function: Vector, label: Vector, numbers: NDArray[np.int64]) -> int:
        """Learn from a few samples in order, given their K and current values; return the number of mistakes."""
        wrong, survival, first = go_through(K, function.copy(), label)
        if len(self.survival):
            self.survival = np.append(self.survival[:-1], self.survival[-1] + first)
        self.sample = np.concatenate([self.sample, numbers[wrong]])
        self.sign = np.concatenate([self.sign, label[wrong]])
        self.survival = np.concatenate([self.survival, survival])
        return len(wrong)

    def renumbered(self, kept: NDArray[np.int64]) -> History:
        """Return a copy whose samples are numbered by their positions among those kept."""
        return History(np.searchsorted(kept, self.sample), self.sign, self.survival.copy())

    def checked(self, n_samples: int) -> History:
        """Return a history read from a file, with its numbers checked, since compiled code does not check them."""
        sample, sign, survival = (np.asarray(part) for part in (self.sample, self.sign, self.survival))
        if not (
            sample.ndim == 1
            and sample.shape == sign.shape == survival.shape
            and sample.dtype.kind == "i"
            and sign.dtype.kind == survival.dtype.kind == "f"
            and ((sample >= 0) & (sample < n_samples)).all()
            and (np.abs(sign) == 1.0).all()
            and ((survival > 0.0) & np.isfinite(survival)).all()
        ):
            raise ValueError(f"a list of mistakes must have numbers of {n_samples} support vectors, signs and counts")
        return History(sample.astype(np.int64), sign.astype(np.float64), survival.astype(np.float64))

    def coefficients(self, n_samples: int, averaged: bool) -> Vector:
        """Coefficients of the last or of the averaged vector, one per sample."""
        weight = self.sign
        if averaged and len(self):
            weight = self.sign * np.cumsum(self.survival[::-1])[::-1] / self.survival.sum()
        return np.bincount(self.sample, weight, minlength=n_samples).astype(np.float64, copy=False)

    def votes(self, K: NDArray[np.float64]) -> Vector:
        """Votes of all vectors on the rows of K, the kernel between new samples and all numbered ones; -1 to 1."""
        if not len(self):
            return np.zeros(len(K))
        return count_votes(K, self.sample, self.sign, self.survival) / self.survival.sum()


@jit
def go_through(K, function, label):
    """Visit each sample once; return (misclassified samples, survival after each, survival before the first).

    A value of zero counts as a mistake, so that the first sample gives the first vector.
    """
    n = function.shape[0]
    wrong = np.empty(n, np.int64)
    survival = np.zeros(n)
    first = 0.0
    count = 0
    for t in range(n):
        if label[t] * function[t] <= 0.0:
            wrong[count] = t
            count += 1
            for j in range(t + 1, n):
                function[j] += label[t] * K[t, j]
        if count:
            survival[count - 1] += 1.0
        else:
            first += 1.0
    return wrong[:count].copy(), survival[:count].copy(), first


@jit
def count_votes(K, sample, sign, survival):
    """sum_k survival_k sign(v_k' phi(x)) for each row of K."""
    votes = np.zeros(K.shape[0])
    for i in range(K.shape[0]):
        row = K[i]
        value = 0.0
        for k in range(sample.shape[0]):
            value += sign[k] * row[sample[k]]
            if value > 0.0:
                votes[i] += survival[k]
            elif value < 0.0:
                votes[i] -= survival[k]
    return votes
