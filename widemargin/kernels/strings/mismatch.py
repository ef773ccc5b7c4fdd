"""Substrings in common up to a few different letters: the mismatch kernel.

    phi_u(s) = how many substrings v of k letters of s differ from u in at most m letters, for every u of k letters

A substring of s thus counts for its whole neighbourhood, sum_d binomial(k, d) (letters - 1)^d strings, d = 0, ..., m.
The neighbourhoods of the substrings that occur are listed once, as a sparse matrix N; the features are (counts) N.

See  Leslie, Eskin, Cohen, Weston & Noble (2004), Mismatch string kernels for discriminative protein classification,
     Bioinformatics 20(4).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.kernels.strings.kmer_kernel import MOST_ENTRIES, KmerKernel, check_whole
from widemargin.kernels.strings.kmers import Counts, is_exact
from widemargin.kernels.strings.letters import Letters, letters_of

MOST_NEIGHBOURS = 1_000_000  # of one substring; six amino acids with two mismatches have 5,530


@dataclass(frozen=True)
class Mismatch(KmerKernel):
    """Substrings in common of k letters, m of which may differ.

    Parameters
    ----------
    k : int, default 4
        Letters of a substring.
    m : int, default 1
        Letters that may differ; 0 is the spectrum kernel.
    alphabet : {"dna", "protein"} or str, default "dna"
        The letters. The kernel depends on how many there are: `"".join(sorted(set("".join(strings))))` makes an
        alphabet of the letters of a text.
    reverse_complement, normalize
        As in `Spectrum`.

    Examples
    --------
    >>> from widemargin.kernels import Mismatch
    >>> Mismatch(k=2, m=1)(["AA"], ["AA", "AC", "CC"]).tolist()  # 7 neighbours each; AA, AC, AG, AT; AC, CA
    [[7.0, 4.0, 2.0]]
    """

    k: int = 4
    m: int = 1
    alphabet: str | None = "dna"
    reverse_complement: bool = False
    normalize: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_whole("k", self.k, 1))
        object.__setattr__(self, "m", check_whole("m", self.m, 0))
        if self.m > self.k:
            raise ValueError(f"Of k={self.k} letters at most {self.k} can differ; got m={self.m}.")
        self._check_strings_options()
        if self.alphabet is None:
            raise ValueError(
                "The mismatch kernel depends on how many letters there are: give alphabet='dna', 'protein' or a string "
                "of the letters, such as ''.join(sorted(set(''.join(strings))))."
            )
        if not is_exact(len(letters_of(self.alphabet)), self.k):
            raise ValueError(
                f"Substrings of {self.k} letters out of {len(letters_of(self.alphabet))} have neighbourhoods too large "
                "to list: use a smaller k, or GappedKmer."
            )

    def _count(self, letters: Letters, alphabet: str) -> list[tuple[Counts, float]]:
        (own, weight), *_ = super()._count(letters, alphabet)
        n_letters = len(letters_of(alphabet))
        names = np.arange(own.matrix.shape[1]) if own.names is None else own.names
        size = sum(comb(self.k, d) * (n_letters - 1) ** d for d in range(self.m + 1))
        if size > MOST_NEIGHBOURS or size * max(len(names), own.matrix.nnz) > MOST_ENTRIES:
            raise ValueError(
                f"{self!r} would write out {size:,} neighbours for each of {own.matrix.nnz:,} substrings: too many to "
                "hold. Use a smaller m or k, or GappedKmer."
            )
        near = list_neighbours(names, self.k, n_letters, self.m).ravel()
        if own.names is None:
            found, columns, width = None, near, len(names)
        else:
            found, columns = np.unique(near, return_inverse=True)
            width = len(found)
        starts = size * np.arange(len(names) + 1)
        neighbourhoods = sparse.csr_array((np.ones(near.size), columns, starts), shape=(len(names), width))
        matrix = sparse.csr_array(own.matrix @ neighbourhoods)
        matrix.sort_indices()
        return [(Counts(matrix, found), weight)]


def list_neighbours(names: NDArray[np.int64], k: int, n_letters: int, m: int) -> NDArray[np.int64]:
    """Names of all windows that differ from each given one in at most m letters, one row per window."""
    powers = n_letters ** np.arange(k - 1, -1, -1)[:, None]
    letters = names // powers % n_letters
    changes = [((letters + shift) % n_letters - letters) * powers for shift in range(n_letters)]
    near = [names]
    for n_changed in range(1, m + 1):
        for positions in combinations(range(k), n_changed):
            for shifts in product(range(1, n_letters), repeat=n_changed):
                near.append(sum((changes[shift][j] for j, shift in zip(positions, shifts)), start=names))
    return np.column_stack(near)
