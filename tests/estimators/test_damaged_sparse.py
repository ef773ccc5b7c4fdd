"""Sparse matrices whose index arrays point outside are refused before compiled code follows them."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from widemargin import SVC, LinearSVC, verify
from widemargin.io import read_arrays
from widemargin.kernels import BlockKernel, Gaussian, PairKernel
from widemargin.linalg.sparse_structure import sound_sparse
from widemargin.storage.errors import FileError

WILD = 2**30
DAMAGES = {
    "an index too large": lambda X: X.indices.__setitem__(70, WILD),
    "a negative index": lambda X: X.indices.__setitem__(70, -WILD),
    "an index a little too large": lambda X: X.indices.__setitem__(70, 60),
    "a wild start": lambda X: X.indptr.__setitem__(20, WILD),
    "starts that fall": lambda X: X.indptr.__setitem__(20, X.indptr[18]),
    "starts not from 0": lambda X: X.indptr.__setitem__(0, 1),
    "an end behind the entries": lambda X: X.indptr.__setitem__(-1, X.indptr[-1] + 1),
    "an end of 0": lambda X: X.indptr.__setitem__(-1, 0),
    "fewer entries than indices": lambda X: setattr(X, "data", X.data[:-5]),
    "starts of another length": lambda X: setattr(X, "indptr", X.indptr[:-2]),
}
KINDS = (sparse.csr_matrix, sparse.csr_array, sparse.csc_array)


@pytest.fixture
def data(rng):
    X = sparse.random(60, 30, 0.2, format="csr", random_state=0)
    return X, np.arange(60) % 2


@pytest.mark.parametrize("width", [np.int32, np.int64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_matrix_is_refused(data, damage, kind, width):
    X, y = data
    models = [SVC().fit(X, y), SVC(kernel="linear").fit(X, y), LinearSVC().fit(X, y)]
    wild = kind(X, copy=True)
    wild.indices, wild.indptr = wild.indices.astype(width), wild.indptr.astype(width)
    DAMAGES[damage](wild)
    calls = [lambda: verify(models[0], wild, y), lambda: Gaussian(1.0)(wild), lambda: Gaussian(1.0)(X, wild)]
    calls += [lambda: SVC(kernel=BlockKernel(lambda a, b: a @ b.T)).fit(wild, y)]
    for model in models:
        calls += [lambda m=model: type(m)().fit(wild, y), lambda m=model: m.decision_function(wild)]
    for call in calls:
        with pytest.raises(ValueError, match="damaged|inconsistent"):
            call()


@pytest.mark.parametrize("order", "<>")
def test_the_byte_order_of_indices_does_not_matter(data, order):
    X, y = data
    swapped = X.copy()
    swapped.indices, swapped.indptr = X.indices.astype(f"{order}i4"), X.indptr.astype(f"{order}i4")
    values = LinearSVC().fit(swapped, y).decision_function(swapped)
    np.testing.assert_array_equal(values, LinearSVC().fit(X, y).decision_function(X))
    swapped.indices[70] = 1 << 24  # 1 in the other order
    with pytest.raises(ValueError, match="is damaged"):
        sound_sparse(swapped)


@pytest.mark.parametrize("axis", [0, 1])
def test_damaged_coordinates_are_refused(data, axis):
    X, y = data
    for wild in (WILD, -1):
        places = sparse.coo_array(X, copy=True)
        places.coords[axis][7] = wild
        for model in (SVC(), LinearSVC()):
            with pytest.raises(ValueError, match="is damaged"):
                model.fit(places, y)


def test_matrices_of_python_objects_and_of_blocks_are_checked(data):
    X, y = data
    lists, blocks, diagonals = X.tolil(), X.tobsr((5, 5)), X.todia()
    lists.rows[3].append(WILD)
    lists.data[3].append(1.0)
    blocks.indices[0] = WILD
    diagonals.offsets = diagonals.offsets[:-1]
    for wild in (lists, blocks, diagonals):
        with pytest.raises(ValueError, match="is damaged"):
            SVC().fit(wild, y)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_sound_matrices_of_every_form_are_taken(data, form):
    X, y = data
    expected = SVC().fit(X, y).decision_function(X)
    np.testing.assert_allclose(SVC().fit(X.asformat(form), y).decision_function(X.asformat(form)), expected)


def test_unsorted_and_repeated_indices_are_sound():
    X = sparse.csr_array((np.ones(3), np.array([2, 0, 2]), np.array([0, 3, 3])), shape=(2, 3))
    assert sound_sparse(X) is X
    assert sound_sparse(sparse.csr_array((0, 5))).shape == (0, 5)


@pytest.mark.parametrize("starts", [[0, 4, 0], [0, 2**30, 4], [4, 0, 4]])
def test_an_npz_with_wild_starts_is_refused(tmp_path, starts):
    path = tmp_path / "wild.npz"
    parts = {"data": np.ones(4), "indices": np.arange(4, dtype=np.int32), "shape": np.array([2, 4])}
    np.savez(path, indptr=np.array(starts, np.int32), **parts)
    with pytest.raises(FileError, match=r"wild.npz"):
        read_arrays(path)


@pytest.mark.needs_compiler
def test_a_pair_function_with_a_wild_index_is_an_error():
    """In a process of its own: if the index is used, the process ends."""
    program = (
        "import numpy as np, numba\n"
        "from widemargin import SVC\n"
        "from widemargin.kernels import PairKernel\n"
        "X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2\n"
        "wild = lambda a, b: a[10**9] * b[0]\n"
        "for function in (wild, numba.njit(wild)):\n"
        "    try:\n"
        "        SVC(kernel=PairKernel(function)).fit(X, y)\n"
        "    except ValueError as error:\n"
        "        print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert found.stdout.count("outside its samples of 3 features") == 2, found.stderr


@pytest.mark.needs_compiler
def test_a_pair_function_that_divides_by_zero_in_python_only_is_compiled():
    X = np.array([[0.0, 1.0], [1.0, 0.0]])
    values = PairKernel(lambda a, b: 1.0 / float(a[0] * b[0] + a[1] * b[1]))(X)
    assert values.tolist() == [[1.0, np.inf], [np.inf, 1.0]]
