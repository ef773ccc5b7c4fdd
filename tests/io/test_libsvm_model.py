"""Model files of LIBSVM: its models predict the same here, ours predict the same there, wrong files get a sentence."""

import ctypes

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.kernel_ridge import KernelRidge

from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.io import FileError, load, read_libsvm_model, save, write_libsvm_model
from widemargin.kernels import Gaussian, Linear, Polynomial

IRIS, SPECIES = load_iris(return_X_y=True)
SHUFFLED = np.random.default_rng(7).permutation(150)[:75]
X = np.round(IRIS[SHUFFLED], 6)  # six digits survive LIBSVM's eight: its file holds the model that it trained
LABELS = np.array([30, -1, 4])[SPECIES[SHUFFLED]]  # neither ascending nor in the order of the data
TARGETS = X @ [1.0, -2.0, 0.5, 1.0] + np.random.default_rng(1).normal(scale=0.3, size=75)
NEW = (X + np.random.default_rng(2).normal(scale=0.4, size=X.shape))[:40]
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")

TWO_CLASSES = """svm_type c_svc
kernel_type polynomial
degree 2
gamma 0.5
coef0 1
nr_class 2
total_sv 3
rho 0.25
label 7 3
probA -2
probB 0.5
nr_sv 1 2
SV
1.5 1:2 3:-1
-0.5 2:4
-1
"""


def written(folder, text):
    path = folder / "m.model"
    path.write_text(text)
    return path


# ---- by hand ----


def test_two_classes_by_hand(tmp_path):
    model = read_libsvm_model(written(tmp_path, TWO_CLASSES))
    x = np.array([[1.0, 0.5, 2.0]])
    # (0.5 * 0 + 1)^2 = 1,  (0.5 * 2 + 1)^2 = 4,  (0.5 * 0 + 1)^2 = 1, and the positive class is the first label, 7
    value = 1.5 * 1 - 0.5 * 4 - 1 * 1 - 0.25
    assert isinstance(model, SVC)
    assert model.classes_.tolist() == [3, 7]
    assert model.decision_function(x) == pytest.approx([value], abs=1e-12)
    assert model.predict(x).tolist() == [3]
    assert model.n_support_.tolist() == [2, 1]
    assert model.C == 1.5
    seven = 1 / (1 + np.exp(-2 * value + 0.5))
    assert model.predict_proba(x) == pytest.approx(np.array([[1 - seven, seven]]), abs=1e-12)


def test_a_written_file_is_the_one_that_was_read(tmp_path):
    model = read_libsvm_model(written(tmp_path, TWO_CLASSES.replace("label 7 3", "label 3 7")))
    write_libsvm_model(model, tmp_path / "again")
    assert (tmp_path / "again").read_text() == TWO_CLASSES.replace("label 7 3", "label 3 7")


def test_a_tie_of_votes_goes_to_the_first_label_of_the_file(tmp_path):
    # three constants: 5 beats 1, 1 beats 9, 9 beats 5, so each has one vote
    text = "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 0\nrho -1 1 -1\nlabel 5 1 9\nnr_sv 0 0 0\nSV\n"
    model = read_libsvm_model(written(tmp_path, text), n_features=1)
    assert model.predict([[0.0]]).tolist() == [5]
    save(model, tmp_path / "own")
    assert load(tmp_path / "own").predict([[0.0]]).tolist() == [5]
    write_libsvm_model(model, tmp_path / "again")
    assert (tmp_path / "again").read_text() == text
    refitted = model.set_params(gamma=1.0).fit(X, LABELS)
    assert not hasattr(refitted, "tie_order_")


def test_precomputed_and_one_class_by_hand(tmp_path):
    text = "svm_type one_class\nkernel_type precomputed\nnr_class 2\ntotal_sv 2\nrho 0.5\n"
    model = read_libsvm_model(written(tmp_path, text + "SV\n0.25 0:1 \n1 0:4 \n"))
    assert model.decision_function([[2.0, 9.0, 9.0, 1.0]]).tolist() == [0.25 * 2 + 1 - 0.5]
    assert model.offset_.tolist() == [0.5]
    write_libsvm_model(model, tmp_path / "again")
    assert (tmp_path / "again").read_text().splitlines()[-2:] == ["0.25 0:1", "1 0:4"]


def test_what_only_libsvm_uses_is_kept(tmp_path):
    marks = "prob_density_marks 1 2 3 4 5 6 7 8 9 10"
    head = "nr_class 2\ntotal_sv 1\nrho 0.5\n"
    for kind, extra in (("one_class", marks), ("epsilon_svr", "probA 0.5")):
        text = f"svm_type {kind}\nkernel_type linear\n{head}{extra}\nSV\n1 1:1\n"
        model = read_libsvm_model(written(tmp_path, text))
        save(model, tmp_path / "own")
        write_libsvm_model(load(tmp_path / "own"), tmp_path / "again")
        assert (tmp_path / "again").read_text() == text


def test_width_and_sparseness(tmp_path):
    text = TWO_CLASSES.replace("2:4", "2000:4")
    model = read_libsvm_model(written(tmp_path, text), n_features=3000)
    assert sp.issparse(model.support_vectors_)
    assert model.n_features_in_ == 3000
    assert model.decision_function(sp.csr_matrix((1, 3000))) == pytest.approx([1.5 - 0.5 - 1 - 0.25])
    with pytest.raises(FileError, match="up to index 2000, more than n_features=10"):
        read_libsvm_model(tmp_path / "m.model", n_features=10)


# ---- against LIBSVM ----


def nodes(data, precomputed):
    """Samples as libsvm's Python face takes them, all zeros left out."""
    if precomputed:
        return [[number + 1, *row] for number, row in enumerate(data.tolist())]
    return [{place + 1: value for place, value in enumerate(row) if value} for row in data.tolist()]


def answers_of_libsvm(model, data, precomputed=False):
    """Answers and decision values of LIBSVM itself: svmutil.svm_predict writes past its buffer for nu_svc."""
    svm = pytest.importorskip("libsvm.svm")
    answers, values = [], []
    for row in nodes(data, precomputed):
        buffer = (ctypes.c_double * 3)()
        answers.append(
            svm.libsvm.svm_predict_values(model, svm.gen_svm_nodearray(row, isKernel=precomputed)[0], buffer)
        )
        values.append(list(buffer))
    return np.array(answers), np.array(values)


def case(machine, kernel):
    """Training data, targets and new data of a machine."""
    target = LABELS if machine in (0, 1) else TARGETS
    if kernel == "precomputed":
        return X @ X.T, target, NEW @ X.T
    return X, target, NEW


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", range(5), ids=["c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"])
def test_models_of_libsvm_predict_the_same_here(tmp_path, machine, kernel):
    svmutil = pytest.importorskip("libsvm.svmutil")
    data, target, new = case(machine, kernel)
    nu = 0.1 if machine == 1 else 0.4
    options = f"-s {machine} -t {KERNELS.index(kernel)} -g 0.05 -r 0.5 -d 2 -n {nu} -q"
    path = str(tmp_path / "m.model")
    svmutil.svm_save_model(path, svmutil.svm_train(target.tolist(), nodes(data, kernel == "precomputed"), options))
    theirs = svmutil.svm_load_model(path)
    answers, values = answers_of_libsvm(theirs, new, kernel == "precomputed")
    model = read_libsvm_model(path, n_features=data.shape[1])
    if machine in (0, 1):
        model.set_params(decision_function_shape="ovo")
        np.testing.assert_array_equal(model.predict(new), answers)
        np.testing.assert_allclose(aligned(values, theirs.get_labels()), model.decision_function(new), atol=1e-9)
    elif machine == 2:
        np.testing.assert_allclose(model.decision_function(new), values[:, 0], atol=2e-9 * abs(model.offset_[0]))
        clear = np.abs(values[:, 0]) > 1e-8 * abs(model.offset_[0])
        np.testing.assert_array_equal(model.predict(new)[clear], answers[clear])
    else:
        np.testing.assert_allclose(model.predict(new), answers, atol=1e-9)


def aligned(values, labels):
    """One-against-one values of LIBSVM, pairs in its order of labels, with the classes in ascending order."""
    place = {label: number for number, label in enumerate(labels)}
    pairs = [(a, b) for a in range(len(labels)) for b in range(a + 1, len(labels))]
    columns = []
    for a, b in [(a, b) for i, a in enumerate(sorted(labels)) for b in sorted(labels)[i + 1 :]]:
        i, j = place[a], place[b]
        columns.append(values[:, pairs.index((i, j))] if i < j else -values[:, pairs.index((j, i))])
    return np.column_stack(columns)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the sigmoid kernel is indefinite
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "machine", [SVC(), NuSVC(nu=0.1), OneClassSVM(), SVR(), NuSVR()], ids=lambda machine: type(machine).__name__
)
def test_our_models_predict_the_same_in_libsvm(tmp_path, machine, kernel):
    svmutil = pytest.importorskip("libsvm.svmutil")
    number = {"SVC": 0, "NuSVC": 1, "OneClassSVM": 2, "SVR": 3, "NuSVR": 4}[type(machine).__name__]
    data, target, new = case(number, kernel)
    model = machine.set_params(kernel=kernel, gamma=0.05, coef0=0.5, degree=2).fit(data, target)
    path = str(tmp_path / "m.model")
    write_libsvm_model(model, path)
    theirs = svmutil.svm_load_model(path)
    answers, values = answers_of_libsvm(theirs, new, kernel == "precomputed")
    if number in (0, 1):
        np.testing.assert_array_equal(model.predict(new), answers)
        model.set_params(decision_function_shape="ovo")
        np.testing.assert_allclose(values, model.decision_function(new), atol=1e-9)
    elif number == 2:
        np.testing.assert_allclose(model.decision_function(new), values[:, 0], atol=2e-9 * abs(model.offset_[0]))
    else:
        np.testing.assert_allclose(model.predict(new), answers, atol=1e-9)


def test_probabilities_both_ways(tmp_path):
    svmutil = pytest.importorskip("libsvm.svmutil")
    path = str(tmp_path / "m.model")
    for labels, atol in ((np.where(LABELS == 4, 1, 2), 1e-9), (LABELS, 0.01)):  # LIBSVM couples three to 0.005 / 3
        svmutil.svm_save_model(path, svmutil.svm_train(labels.tolist(), nodes(X, False), "-g 0.05 -b 1 -q"))
        theirs = svmutil.svm_load_model(path)
        _, _, expected = svmutil.svm_predict([0] * 40, nodes(NEW, False), theirs, "-b 1 -q")
        order = np.argsort(theirs.get_labels())
        model = read_libsvm_model(path)
        theirs_sorted = np.array(expected)[:, order]
        agrees = model.classes_[theirs_sorted.argmax(axis=1)] == model.predict(NEW)  # elsewhere ours follow predict
        assert agrees.mean() > 0.9
        np.testing.assert_allclose(model.predict_proba(NEW)[agrees], theirs_sorted[agrees], atol=atol)
        write_libsvm_model(model, path)
        again = svmutil.svm_load_model(path)
        _, _, back = svmutil.svm_predict([0] * 40, nodes(NEW, False), again, "-b 1 -q")
        order_again = np.argsort(again.get_labels())
        np.testing.assert_allclose(np.array(back)[:, order_again], np.array(expected)[:, order], atol=1e-9)


def test_marks_of_one_class_and_noise_of_regression_reach_libsvm_again(tmp_path):
    svmutil = pytest.importorskip("libsvm.svmutil")
    path = str(tmp_path / "m.model")
    for machine in (2, 3):
        options = f"-s {machine} -g 0.05 -n 0.4 -b 1 -q"
        svmutil.svm_save_model(path, svmutil.svm_train(TARGETS.tolist(), nodes(X, False), options))
        first = svmutil.svm_load_model(path)
        save(read_libsvm_model(path), tmp_path / "own")
        write_libsvm_model(load(tmp_path / "own"), path)
        second = svmutil.svm_load_model(path)
        if machine == 3:
            assert second.get_svr_probability() == first.get_svr_probability() > 0
            continue
        answers = [svmutil.svm_predict([0] * 40, nodes(NEW, False), model, "-b 1 -q")[2] for model in (first, second)]
        np.testing.assert_array_equal(answers[0], answers[1])
        assert len({pair[0] for pair in answers[0]}) > 2  # probabilities do differ


@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 5))
def test_writing_and_reading_is_the_identity(tmp_path, seed, n_classes):
    random = np.random.default_rng(seed)
    x = random.normal(size=(12 * n_classes, 3)) * random.choice([0.0, 1.0, 1e-7], size=3)
    y = random.permutation(np.arange(len(x)) % n_classes * 3 - 4)
    model = SVC(gamma=0.5, decision_function_shape="ovo").fit(x, y)
    write_libsvm_model(model, tmp_path / "m")
    again = read_libsvm_model(tmp_path / "m", n_features=3).set_params(decision_function_shape="ovo")
    np.testing.assert_array_equal(again.classes_, model.classes_)
    np.testing.assert_allclose(again.decision_function(x), model.decision_function(x), atol=1e-12)


# ---- what cannot be written or read ----


def test_machines_that_libsvm_lacks(tmp_path):
    path = tmp_path / "m.model"
    with pytest.raises(FileError, match="LIBSVM has the kernels linear, .* no Laplacian"):
        write_libsvm_model(SVC(kernel="laplacian").fit(X, LABELS), path)
    with pytest.raises(FileError, match="train with multi_class='ovo'"):
        write_libsvm_model(SVC(multi_class="ovr").fit(X, LABELS), path)
    with pytest.raises(FileError, match="whole numbers, these are .*LabelEncoder"):
        write_libsvm_model(SVC().fit(X, LABELS.astype(str)), path)
    with pytest.raises(FileError, match="LIBSVM has SVC, .* no KernelRidge"):
        write_libsvm_model(KernelRidge().fit(X, TARGETS), path)
    assert not path.exists()


def test_kernel_objects_are_written_where_libsvm_has_them(tmp_path):
    model = SVC(kernel=Polynomial(degree=2, gamma=0.1, coef0=1.0)).fit(X, LABELS)
    write_libsvm_model(model, tmp_path / "m")
    np.testing.assert_allclose(
        read_libsvm_model(tmp_path / "m").decision_function(NEW), model.decision_function(NEW), atol=1e-9
    )
    with pytest.raises(FileError, match="no Gaussian"):
        write_libsvm_model(SVC(kernel=Gaussian(0.1) + Linear()).fit(X, LABELS), tmp_path / "m")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("c_svc", "c_svm", "line 1: expected svm_type and one of c_svc"),
        ("polynomial", "poly nomial", "line 2: expected kernel_type and one of linear"),
        ("degree 2", "degree 2.5", "line 3: expected degree and one whole number"),
        ("gamma 0.5", "gamma a", "line 4: expected gamma and one number"),
        ("gamma 0.5", "gamma inf", "line 4: expected gamma"),
        ("coef0 1", "coef0", "line 5: expected coef0"),
        ("coef0 1", "coef1 1", "line 5: expected one of svm_type, kernel_type, degree"),
        ("nr_class 2", "nr_class 1", "nr_class 1, .* expected at least 2 classes"),
        ("nr_class 2", "nr_class 3", "1 values of rho; a model with 3 classes has 3"),
        ("total_sv 3", "total_sv 4", "nr_sv must sum to total_sv 4"),
        ("-1\n", "", "2 lines of support vectors, but total_sv says 3"),
        ("rho 0.25\n", "", "has no line rho"),
        ("label 7 3", "label 7 7", "labels must differ"),
        ("nr_sv 1 2", "nr_sv 1 1", "nr_sv must sum to total_sv 3"),
        ("SV\n", "", "line 13: expected one of svm_type"),
        ("1.5 1:2 3:-1", "x 1:2 3:-1", "line 14: expected 1 coefficient and index:value pairs; got 'x 1:2 3:-1'"),
        ("1.5 1:2 3:-1", "1.5 1.5 1:2", "line 14: expected 1 coefficient and"),
        ("1.5 1:2 3:-1", "1.5 1:2 3:", "line 14: expected 1 coefficient and"),
        ("1.5 1:2 3:-1", "1.5 1::2 3", "line 14: expected 1 coefficient and"),
        ("1.5 1:2 3:-1", "1.5 1:nan", "line 14: expected 1 coefficient and"),
        ("1.5 1:2 3:-1", "1.5 0:2 3:-1", "line 14: expected indices that are whole numbers from 1"),
        ("1.5 1:2 3:-1", "1.5 1:2 99999999999:-1", "line 14: expected indices that are whole numbers from 1"),
        ("1.5 1:2 3:-1", "1.5 3:2 3:-1", "line 14: expected indices in ascending order"),
        ("polynomial", "precomputed", "line 14: expected 0:serial"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, old, new, sentence):
    assert old in TWO_CLASSES
    with pytest.raises(FileError, match=sentence):
        read_libsvm_model(written(tmp_path, TWO_CLASSES.replace(old, new, 1)))


def test_parameters_that_no_kernel_can_have_are_named(tmp_path):
    text = TWO_CLASSES.replace("polynomial", "rbf").replace("gamma 0.5", "gamma -1e308")
    assert "kernel_type rbf" in text and "gamma -1e308" in text
    with pytest.raises(FileError, match="holds no model: gamma must be a finite number, 0 or more; got -1e[+]308"):
        read_libsvm_model(written(tmp_path, text))


def test_other_files(tmp_path):
    with pytest.raises(FileError, match="does not exist: check the path"):
        read_libsvm_model(tmp_path / "missing")
    with pytest.raises(FileError, match="no line 'SV'"):
        read_libsvm_model(written(tmp_path, "svm_type c_svc\n"))
    with pytest.raises(FileError, match=r"looks like a model of LIBSVM.*read_libsvm_model"):
        load(written(tmp_path, TWO_CLASSES))


@given(data=st.data())
def test_damaged_text_is_read_or_refused_with_a_sentence(tmp_path, data):
    damaged = bytearray(TWO_CLASSES.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path = tmp_path / "m.model"
    path.write_bytes(damaged)
    try:
        model = read_libsvm_model(path)
    except FileError as error:
        assert str(path) in str(error)
    else:
        assert model.predict(np.zeros((1, model.n_features_in_))).shape == (1,)


@pytest.mark.parametrize("lost", ["probA", "probB"])
def test_half_of_the_sigmoids_is_refused(tmp_path, lost):
    path = tmp_path / "half.model"
    lines = ["svm_type c_svc", "kernel_type linear", "nr_class 2", "total_sv 2", "rho 0", "label 1 -1", "probA -1"]
    lines += ["probB 0", "nr_sv 1 1", "SV", "0.5 1:1", "-0.5 1:-1"]
    path.write_text("\n".join(line for line in lines if not line.startswith(lost)) + "\n")
    with pytest.raises(FileError, match="only one of the lines probA and probB"):
        read_libsvm_model(path)
