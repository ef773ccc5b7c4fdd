"""A fit that was killed goes on from its checkpoint; files of other fits, damaged and hostile ones do no harm."""

import os
import pickle
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status, io
from widemargin.model_selection import GridSearchCV
from widemargin.storage.archive import read_archive, write_archive
from widemargin.storage.errors import FileError
from widemargin.training import checkpoint as checkpoints

pytestmark = pytest.mark.needs_compiler

KILLED = """
import os, signal, sys
import numpy as np
from sklearn.datasets import make_classification
from widemargin import SVC
from widemargin.training import checkpoint

noting = checkpoint.Checkpoint.listener

def listener(self, number, watch):
    note = noting(self, number, watch)

    def note_and_die(now):
        note(now)
        if now.violation < float(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)

    return note_and_die

checkpoint.EVERY, checkpoint.Checkpoint.listener = 0.0, listener
X, y = make_classification(4000, 8, n_informative=6, flip_y=0.1, random_state=0)
SVC(C=10, checkpoint=sys.argv[1]).fit(X, y)
"""


def data(n=300, n_classes=2):
    return make_classification(n, 6, n_informative=5, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=1)


def stopped(machine, X, y, folder):
    """Fit a few steps of the machine; the file that it leaves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clone(machine).set_params(checkpoint=folder, max_iter=12).fit(X, y)
    (file,) = Path(folder).iterdir()
    return file


def test_a_killed_process_loses_at_most_one_checkpoint(tmp_path):
    X, y = make_classification(4000, 8, n_informative=6, flip_y=0.1, random_state=0)
    whole = SVC(C=10).fit(X, y)
    for violation in ("0.5", "0.01"):  # the second process goes on from the first
        died = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), violation], check=False)
        assert died.returncode == -signal.SIGKILL
        (file,) = tmp_path.glob("*.checkpoint")
    (known,) = checkpoints.read_multipliers(file, {read_archive(file)[0]["problems"][0]: len(X)}).values()
    assert known.any() and abs(known.sum()) < 1e-9 and np.abs(known).max() <= 10
    resumed = SVC(C=10, checkpoint=tmp_path).resume(X, y)
    assert resumed.certificate_.holds and resumed.status_ is Status.OPTIMAL
    assert resumed.certificate_.dual == pytest.approx(whole.certificate_.dual, rel=2e-3)
    assert resumed.n_iter_[0] < 0.3 * whole.n_iter_[0]
    assert not list(tmp_path.iterdir())  # done, so the file is gone


MACHINES = [
    SVC(C=5.0), SVC(C=5.0, loss="squared_hinge"), SVC(C=5.0, multi_class="ovr"), SVC(probability=True, random_state=0),
    NuSVC(nu=0.3), SVR(C=5.0), NuSVR(C=5.0), OneClassSVM(nu=0.3), SVC(C=5.0, solver="platt"),
    SVC(kernel="precomputed"), SVC(kernel=lambda A, B: (A @ B.T + 1.0) ** 2), SVC(C=5.0, solver="adatron"),
]  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: str(machine).partition("<function")[0])
def test_every_machine_goes_on_from_its_file(machine, tmp_path, caplog):
    X, y = (
        data(n_classes=2 if isinstance(machine, SVR | NuSVR) or machine.solver == "adatron" else 3)
        if not isinstance(machine, OneClassSVM)
        else data()
    )
    y = y.astype(float)
    X = X @ X.T if machine.kernel == "precomputed" else X
    file = stopped(machine, X, y, tmp_path)
    whole = clone(machine).fit(X, y)
    caplog.set_level("INFO", "widemargin")
    again = clone(machine).set_params(checkpoint=tmp_path).fit(X, y)
    assert "goes on from the checkpoint" in caplog.text
    assert again.certificate_.holds and not file.exists()
    assert again.certificate_.dual == pytest.approx(whole.certificate_.dual, rel=1e-2, abs=1e-3)


@pytest.mark.parametrize(
    "X",
    [
        sp.random_array((300, 40), density=0.1, format="csr", rng=0),
        ["".join(chr(97 + k % 4) for k in range(i, i * i % 37 + i + 5)) for i in range(300)],
    ],
    ids=["sparse", "strings"],
)
def test_samples_of_other_kinds(X, tmp_path):
    y = data()[1]
    machine = SVC(kernel="rbf") if sp.issparse(X) else SVC(kernel=_shared_letters)
    stopped(machine, X, y, tmp_path)
    assert clone(machine).set_params(checkpoint=tmp_path).resume(X, y).certificate_.holds


def _shared_letters(A, B):
    count = [np.array([[text.count(c) for c in "abcd"] for text in side], float) for side in (A, B)]
    return count[0] @ count[1].T


def test_samples_without_content_are_refused_before_the_fit(tmp_path):
    class Thing:
        pass

    things, y = [Thing() for _ in range(10)], [0, 1] * 5
    machine = SVC(kernel=lambda A, B: np.eye(len(A), len(B)), checkpoint=tmp_path)
    with pytest.raises(TypeError, match=r"samples of type Thing have no content .* leave checkpoint out"):
        machine.fit(things, y)


@pytest.mark.parametrize(
    "change",
    [
        lambda X, y: (X[::-1], y[::-1], {}),
        lambda X, y: (X + 1e-9 * (np.arange(X.size).reshape(X.shape) == 17), y, {}),
        lambda X, y: (X, np.where(np.arange(len(y)) == 3, 1 - y, y), {}),
        lambda X, y: (X, y, {"C": 6.0}),
        lambda X, y: (X, y, {"gamma": 0.3}),
        lambda X, y: (X, y, {"class_weight": {0: 2.0}}),
        lambda X, y: (X, y, {"loss": "squared_hinge"}),
    ],
    ids=["order", "one value", "one label", "C", "gamma", "weight", "loss"],
)
def test_files_of_other_fits_are_not_taken(change, tmp_path, caplog):
    X, y = data()
    file = stopped(SVC(C=5.0), X, y, tmp_path)
    before = file.read_bytes()
    X, y, options = change(X, y)
    machine = SVC(**{"C": 5.0, **options}, checkpoint=tmp_path)
    with pytest.raises(NotFittedError, match="resume needs the checkpoint of a fit with the same data"):
        machine.resume(X, y)
    caplog.set_level("INFO", "widemargin")
    assert machine.fit(X, y).certificate_.holds
    assert "has 1 checkpoints of other fits" in caplog.text
    assert file.read_bytes() == before and list(tmp_path.iterdir()) == [file]


def test_a_tolerance_is_no_other_fit(tmp_path):
    X, y = data()
    stopped(SVC(C=5.0, tol=1e-2), X, y, tmp_path)
    assert SVC(C=5.0, tol=1e-5, checkpoint=tmp_path).resume(X, y).certificate_.holds


def test_clones_of_a_search_have_files_of_their_own(tmp_path):
    X, y = data()
    search = GridSearchCV(SVC(max_iter=10, checkpoint=tmp_path), {"C": [1, 10]}, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, y)
    assert len(list(tmp_path.iterdir())) == 7  # two values on three folds, and the best on all


def _written(changes=None, header=None):
    def damage(file):
        head, arrays = read_archive(file)
        write_archive(
            file, {**head, **(header or {})}, {**arrays, **{k: f(arrays[k]) for k, f in (changes or {}).items()}}
        )

    return damage


DAMAGES = {
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-40]),
    "bit": lambda file: file.write_bytes(file.read_bytes().replace(b"checkpoint", b"checkpoinz", 1)),
    "huge": lambda file: file.write_bytes(file.read_bytes() + bytes(1_000_000)),
    "places": _written({"places": lambda a: a + 10_000}),
    "negative places": _written({"places": lambda a: a - 10_000}),
    "places twice": _written({"places": lambda a: np.zeros_like(a)}),
    "nan": _written({"values": lambda a: a * np.nan}),
    "types": _written({"values": lambda a: a.astype(np.float32)}),
    "starts": _written({"starts": lambda a: a[::-1].copy()}),
    "long": _written({"starts": lambda a: np.append(a, a[-1])}),
    "version": _written(header={"version": 2}),
    "format": _written(header={"format": "widemargin model"}),
    "names": _written(header={"problems": [["x"]]}),
    "no names": _written(header={"problems": 3}),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_left_aside(damage, tmp_path, caplog):
    X, y = data()
    damage(stopped(SVC(C=5.0), X, y, tmp_path))
    machine = SVC(C=5.0, checkpoint=tmp_path).fit(X, y)
    whole = SVC(C=5.0).fit(X, y)
    assert damage is DAMAGES["names"] or "is not used, the fit starts anew" in caplog.text
    np.testing.assert_array_equal(machine.dual_coef_, whole.dual_coef_)
    assert not list(tmp_path.iterdir())


def test_multipliers_out_of_their_box_are_moved_into_it(tmp_path):
    X, y = data()
    _written({"values": lambda a: 1e6 * a})(stopped(SVC(C=5.0), X, y, tmp_path))
    machine = SVC(C=5.0, checkpoint=tmp_path).resume(X, y)
    assert machine.certificate_.holds and np.abs(machine.dual_coef_).max() <= 5.0


def test_a_folder_that_cannot_be_written_is_told_before_the_fit(tmp_path):
    X, y = data()
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be made a folder"):
        SVC(checkpoint=tmp_path / "file").fit(X, y)
    assert SVC(checkpoint=tmp_path / "new" / "folder").fit(X, y).certificate_.holds


def test_a_disk_that_is_full_ends_no_fit(tmp_path, caplog, monkeypatch):
    def full(path, problems):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "EVERY", 0.0)
    monkeypatch.setattr(checkpoints, "write_multipliers", full)
    X, y = make_classification(3000, 8, flip_y=0.2, random_state=0)
    assert SVC(C=10, checkpoint=tmp_path).fit(X, y).certificate_.holds
    assert caplog.text.count("No checkpoint is written") == 1


def test_finished_pairs_are_kept_while_others_are_trained(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "EVERY", 0.0)
    seen = []
    write = checkpoints.write_multipliers
    monkeypatch.setattr(
        checkpoints, "write_multipliers", lambda path, known: (seen.append(len(known)), write(path, known))
    )
    X, y = load_iris(return_X_y=True)
    assert SVC(checkpoint=tmp_path, n_jobs=1).fit(X, y).certificate_.holds
    assert max(seen) == 3 and sorted(seen) == seen


def test_the_parameter_is_cloned_and_pickled_but_in_no_model_file(tmp_path):
    X, y = data()
    machine = SVC(checkpoint=tmp_path)
    assert clone(machine).checkpoint == tmp_path and machine.get_params()["checkpoint"] == tmp_path
    machine.fit(X, y)
    assert pickle.loads(pickle.dumps(machine)).checkpoint == tmp_path
    io.save(machine, tmp_path / "m.model")
    assert io.load(tmp_path / "m.model").checkpoint is None
    assert str(tmp_path).encode() not in (tmp_path / "m.model").read_bytes()
    assert not hasattr(io.to_sklearn(machine), "checkpoint")


def test_a_model_file_that_sets_a_folder_is_refused(tmp_path):
    X, y = data()
    io.save(SVC().fit(X, y), tmp_path / "m.model")
    header, arrays = read_archive(tmp_path / "m.model")
    header["parameters"]["checkpoint"] = str(tmp_path / "elsewhere")
    write_archive(tmp_path / "m.model", header, arrays)
    with pytest.raises(FileError, match="checkpoint"):
        io.load(tmp_path / "m.model")
    assert not os.path.exists(tmp_path / "elsewhere")


def test_resume_of_a_fitted_model_begins_at_its_own_answer(tmp_path):
    X, y = data()
    file = stopped(SVC(C=5.0), X, y, tmp_path)
    _written({"values": lambda a: 0 * a})(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        part = SVC(C=5.0, max_iter=100).fit(X, y)
    whole = part.certificate_.dual
    part.set_params(checkpoint=tmp_path, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        part.resume(X, y)
    assert part.certificate_.dual >= whole - 1e-9
