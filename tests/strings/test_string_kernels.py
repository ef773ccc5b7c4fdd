"""String kernels against counting by hand: any alphabet, any strings, one at a time and in blocks."""

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strings import counting
from widemargin.kernels import (
    BlendedSpectrum,
    GappedKmer,
    Gaussian,
    Mismatch,
    RepresentationMismatch,
    Spectrum,
    Subsequence,
    make_kernel,
)
from widemargin.kernels.strings import kmers

LETTERS = "abC\u00e9\u4e2d\U0001f600"  # one to four bytes each
texts = st.lists(st.text(LETTERS, max_size=12), min_size=1, max_size=5)
dna = st.lists(st.text("ACGTN", max_size=12), min_size=1, max_size=4)


def expected(features, left, right, normalize=False):
    compare = counting.cosine if normalize else counting.dot
    return np.array([[compare(features(s), features(t)) for t in right] for s in left])


def agrees(kernel, features, left, right):
    """Values, diagonal and values of new strings, whose unknown features must count in the norm."""
    normalize = kernel.normalize
    np.testing.assert_allclose(kernel(left, right), expected(features, left, right, normalize), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel(left), expected(features, left, left, normalize), rtol=1e-12, atol=1e-13)
    try:
        samples = kernel.prepare(right, like=kernel.prepare(left))
    except RepresentationMismatch:  # bits on the left and counts on the right: callers go the other way round
        samples = kernel.prepare(right)
    own = [expected(features, [t], [t], normalize)[0, 0] for t in right]
    np.testing.assert_allclose(kernel.diag(samples), own, rtol=1e-12, atol=1e-13)


@settings(max_examples=40)
@given(texts, texts, st.integers(1, 5), st.booleans())
def test_spectrum(left, right, k, normalize):
    agrees(Spectrum(k, normalize=normalize), lambda s: counting.spectrum(s, k), left, right)


@settings(max_examples=15)
@given(texts, texts, st.integers(2, 4), st.sampled_from([0.5, 1.0, 2.0]), st.booleans())
def test_blended_spectrum(left, right, k, decay, normalize):
    kernel = BlendedSpectrum(k, shortest=2, decay=decay, normalize=normalize)
    agrees(kernel, lambda s: counting.blended(s, k, 2, decay), left, right)


@settings(max_examples=15)
@given(texts, texts, st.integers(1, 3), st.integers(0, 2), st.booleans())
def test_gapped_kmers(left, right, k, gaps, normalize):
    agrees(GappedKmer(k, gaps, normalize=normalize), lambda s: counting.gapped(s, k, gaps), left, right)


@settings(max_examples=15)
@given(dna, dna, st.integers(1, 3), st.integers(0, 1), st.booleans())
def test_mismatch(left, right, k, m, normalize):
    agrees(Mismatch(k, m, normalize=normalize), lambda s: counting.mismatch(s, k, m, "ACGT"), left, right)


@settings(max_examples=20)
@given(texts, texts, st.integers(1, 4), st.sampled_from([0.3, 1.0]), st.booleans())
def test_subsequence(left, right, k, decay, normalize):
    agrees(Subsequence(k, decay, normalize=normalize), lambda s: counting.subsequence(s, k, decay), left, right)


@pytest.mark.parametrize("m", [1, 2])
def test_mismatch_of_a_large_alphabet_without_a_table(m, rng):
    """20^4 names: columns are those of the neighbours that occur."""
    strings = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 9)) for _ in range(4)]
    kernel = Mismatch(4, m, alphabet="protein")
    assert len(kernel.explicit(strings).columns.names[0]) < 20**4

    def value(s, t):
        total = 0
        for u in counting.substrings(s, 4):
            for v in counting.substrings(t, 4):
                far = sum(a != b for a, b in zip(u, v, strict=True))
                total += _common_neighbours(far, 4, 20, m)
        return total

    np.testing.assert_allclose(
        kernel(strings[:2], strings[2:]), [[value(s, t) for t in strings[2:]] for s in strings[:2]]
    )


def _common_neighbours(far, k, letters, m):
    """Strings within m letters of both of two strings that differ in `far` of k letters, letter by letter."""
    ways = {(0, 0): 1}
    for place in range(k):
        moves = (
            [((0, 1), 1), ((1, 0), 1), ((1, 1), letters - 2)] if place < far else [((0, 0), 1), ((1, 1), letters - 1)]
        )
        new: dict = {}
        for (a, b), n in ways.items():
            for (da, db), times in moves:
                new[a + da, b + db] = new.get((a + da, b + db), 0) + n * times
        ways = new
    return sum(n for (a, b), n in ways.items() if a <= m and b <= m)


@settings(max_examples=20)
@given(dna, st.integers(1, 4))
def test_both_strands(strings, k):
    def features(s):
        return counting.spectrum(s, k, "ACGT") + counting.spectrum(counting.other_strand(s), k, "ACGT")

    kernel = Spectrum(k, reverse_complement=True)
    assert kernel.alphabet == "dna"
    agrees(kernel, features, strings, strings)
    flipped = [counting.other_strand(s) for s in strings]
    np.testing.assert_array_equal(kernel(strings, strings), kernel(flipped, strings))


@settings(max_examples=15)
@given(dna)
def test_both_strands_with_gaps(strings):
    def features(s):
        return counting.gapped(s, 2, 1, "ACGT") + counting.gapped(counting.other_strand(s), 2, 1, "ACGT")

    agrees(GappedKmer(2, 1, reverse_complement=True), features, strings, strings)


@pytest.mark.parametrize("k", [3, 9, 21, 40])
def test_names_are_right_at_any_length(k, rng):
    """Tables, dictionaries of exact names and fingerprints."""
    strings = ["".join(rng.choice(list("ACGT"), 60)) for _ in range(4)]
    strings += [s[:50] + t[:50] for s, t in zip(strings, strings[::-1], strict=True)]
    assert [kmers.is_direct(4, k), kmers.is_exact(4, k)] == {3: [1, 1], 9: [0, 1], 21: [0, 1], 40: [0, 0]}[k]
    agrees(Spectrum(k), lambda s: counting.spectrum(s, k), strings, strings)


def test_fingerprints_keep_gapped_windows_apart(rng):
    strings = ["".join(rng.choice(list("ab"), 80)) + "\U0001f600" for _ in range(3)]
    kernel = GappedKmer(65, 1)
    assert not kmers.is_exact(3, 65)
    agrees(kernel, lambda s: counting.gapped(s, 65, 1), strings, strings)


def test_arithmetic_of_names():
    rng = np.random.default_rng(0)
    numbers = [0, 1, kmers.PRIME - 1, *map(int, rng.integers(0, kmers.PRIME, 50))]
    for a in numbers:
        for b in numbers[:8]:
            assert kmers.multiply(np.int64(a), np.int64(b)) == a * b % kmers.PRIME


def test_named_alphabets_read_small_letters_and_leave_out_others():
    kernel = Spectrum(2, alphabet="dna")
    assert kernel(["ACGT"], ["acgu", "ACNGT", "xx", ""]).tolist() == [[3.0, 2.0, 0.0, 0.0]]
    assert Spectrum(1, alphabet="protein")(["BJOUXZ"], ["BJOUXZ"]).tolist() == [[0.0]]
    assert Spectrum(1, alphabet="xy")(["xyzX"], ["xyzX"]).tolist() == [[2.0]]
    assert Subsequence(1, 1.0, alphabet="dna")(["aN"], ["AN"]).tolist() == [[1.0]]


KERNELS = [Spectrum(2), BlendedSpectrum(3), GappedKmer(2, 1), Mismatch(3, 1), Subsequence(2), Spectrum(9)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_parts_of_prepared_strings_and_both_precisions(kernel, rng):
    strings = ["".join(rng.choice(list("ACGT"), length)) for length in rng.integers(0, 40, 30)]
    K = kernel(strings)
    for dtype in (np.float32, np.float64):
        samples = kernel.prepare(strings, dtype)
        index = rng.permutation(30)[:11]
        values = kernel.block(samples.take(index), samples.tile(4, 25), np.empty((11, 21), dtype))
        assert np.abs(values - K[index, 4:25]).max() <= kernel.rounding(samples)
        assert len(samples.take(index).tile(2, 5)) == 3
    np.testing.assert_allclose(np.diag(K), kernel.diag(samples), rtol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-9 * np.linalg.norm(K)
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_features_are_a_matrix_for_any_linear_method(rng):
    strings = ["".join(rng.choice(list("abcd"), 30)) for _ in range(20)]
    for kernel in KERNELS[:4]:
        if isinstance(kernel, Mismatch):
            kernel = Mismatch(3, 1, alphabet="abcd")
        X = kernel.features(strings)
        assert X.format == "csr" and X.has_canonical_format
        np.testing.assert_allclose((X @ X.T).toarray(), kernel(strings), rtol=1e-12)


def test_whole_counts_are_exact_in_single_precision(rng):
    strings = ["".join(rng.choice(list("ACGT"), 400)) for _ in range(60)]
    kernel = Spectrum(6)
    single = kernel.prepare(strings, np.float32)
    assert kernel.rounding(single) == 0.0
    np.testing.assert_array_equal(kernel(strings, dtype=np.float32), kernel(strings))
    normal = Spectrum(6, normalize=True)
    assert normal.rounding(normal.prepare(strings, np.float32)) > 0.0


def test_kernels_add_and_multiply():
    strings = ["banana", "ananas", "bandana"]
    K = (Spectrum(1) + 2.0 * Spectrum(2) * Subsequence(2))(strings)
    np.testing.assert_allclose(K, Spectrum(1)(strings) + 2.0 * Spectrum(2)(strings) * Subsequence(2)(strings))
    assert (Spectrum(1) + 2.0 * Spectrum(2)).accepts_objects
    assert not (Gaussian(1.0) * Gaussian(2.0)).accepts_objects


def test_by_name():
    assert make_kernel("spectrum", k=6) == Spectrum(6)
    assert make_kernel("gapped_kmer", k=3, gaps=1, normalize=True) == GappedKmer(3, 1, normalize=True)
    with pytest.raises(TypeError, match="has no parameter gaps; it has k, alphabet"):
        make_kernel("spectrum", gaps=3)
    with pytest.raises(TypeError, match="k belong to kernels on strings"):
        make_kernel("rbf", k=3)
    with pytest.raises(ValueError, match="sigmoid.*subsequence"):
        make_kernel("strings")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("ACGT", TypeError, "Put it into a list"),
        (b"ACGT", TypeError, "Put it into a list"),
        (["A", 3.5], TypeError, "sample 1 is 3.5, of type float"),
        (["A", None], TypeError, "missing values"),
        (np.array([["a", "b"]]), ValueError, r"table of shape \(1, 2\)"),
    ],
)
@pytest.mark.parametrize("kernel", [Spectrum(2), Subsequence(2)], ids=["features", "pairs"])
def test_what_is_no_list_of_strings_is_named(kernel, given, error, message):
    with pytest.raises(error, match=message):
        kernel.prepare(given)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Spectrum(0), "k must be a whole number, 1 or more; got 0"),
        (lambda: Spectrum(2.5), "whole number"),
        (lambda: Spectrum(alphabet="aa"), "different letters"),
        (lambda: Spectrum(alphabet="protein", reverse_complement=True), "two strands"),
        (lambda: BlendedSpectrum(2, shortest=3), "3 or more; got 2"),
        (lambda: BlendedSpectrum(2, decay=0.0), "positive"),
        (lambda: Mismatch(2, 3), "at most 2"),
        (lambda: Mismatch(alphabet=None), "how many letters"),
        (lambda: Mismatch(40, 1), "smaller k"),
        (lambda: GappedKmer(15, 15), "more than 5,000 ways"),
        (lambda: Subsequence(decay=1.5), "at most 1"),
        (lambda: Mismatch(20, 12).features(["ACGT" * 20]), "too many to hold"),
    ],
)
def test_parameters_that_cannot_be_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize(
    "kernel", [Spectrum(10**9), BlendedSpectrum(2_000_000), Subsequence(10**8), GappedKmer(10**9, 0)]
)
def test_substrings_longer_than_all_strings_take_no_memory(kernel, normalize):
    strings = ["banana", "bandana", "ananas"]
    values = dataclasses.replace(kernel, normalize=normalize)(strings)
    if isinstance(kernel, BlendedSpectrum):
        np.testing.assert_array_equal(values, BlendedSpectrum(7, normalize=normalize)(strings))
    else:
        assert not values.any()


@pytest.mark.parametrize("normalize", [False, True])
def test_new_strings_may_be_longer_or_shorter_than_those_before(normalize):
    kernel, enough = BlendedSpectrum(50, normalize=normalize), BlendedSpectrum(12, normalize=normalize)
    short, long = ["ban", "an"], ["bananananana", "ba"]
    for left, right in ((short, long), (long, short)):
        np.testing.assert_allclose(kernel(left, right), enough(left + right)[:2, 2:], rtol=1e-14)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Mismatch(10**9),
        lambda: Mismatch(20, 8)(["ACGT" * 9]),
        lambda: GappedKmer(10**9, 5),
        lambda: GappedKmer(5, 10**9),
    ],
)
def test_windows_with_too_many_features_are_refused_at_once(make):
    with pytest.raises(ValueError, match="a smaller (m or )?k"):
        make()


def test_tables_of_long_subsequences_are_refused():
    with pytest.raises(ValueError, match="use a smaller k"):
        Subsequence(8000)(["ab" * 5000])
