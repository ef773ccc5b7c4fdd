"""The kernel perceptron through model files: predictions, learning on, and files that were tampered with."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from widemargin import KernelPerceptron
from widemargin.io import FileError, load, save
from widemargin.storage.archive import read_archive, write_archive

pytestmark = pytest.mark.needs_compiler

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("variant", ["averaged", "voted", "last"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_loaded_perceptron_predicts_and_learns_on_like_the_saved_one(tmp_path, variant, n_classes, sparse):
    some = n_classes > Y
    data = sp.csr_matrix(X[some]) if sparse else X[some]
    model = KernelPerceptron(variant=variant, max_iter=2, random_state=0).fit(data, Y[some])
    save(model, tmp_path / "p.model")
    again = load(tmp_path / "p.model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    new = X[some][::-1] + 0.5
    for machine in (model, again):
        machine.partial_fit(new, Y[some][::-1])
    assert again.mistakes_.tolist() == model.mistakes_.tolist()
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("array", "spoil"),
    [
        ("_histories", lambda sample: sample + 1000),
        ("_histories", lambda sample: sample - 1000),
        ("_histories", lambda sample: sample[:-1]),
        ("_histories", lambda sample: sample.astype(float)),
        ("dual_coef_", lambda coefficients: coefficients[:, 1:]),
        ("support_vectors_", lambda vectors: vectors[:, 1:]),
        ("classes_", lambda classes: classes[:2]),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(tmp_path, array, spoil):
    path = tmp_path / "p.model"
    save(KernelPerceptron(max_iter=2, random_state=0).fit(X, Y), path)
    header, arrays = read_archive(path)
    write_archive(path, header, {**arrays, array: spoil(arrays[array])})
    with pytest.raises(FileError, match="does not fit together"):
        load(path)
