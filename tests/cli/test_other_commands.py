"""convert, plot, report, bench, warmup, info, completion."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.svm import SVC as ScikitLearnSVC

import widemargin
from widemargin import _jit
from widemargin.cli import warmup
from widemargin.cli.main import COMMANDS, main
from widemargin.estimators.registry import ESTIMATORS
from widemargin.io import load


def test_convert_to_libsvm_and_back(cancer, capsys):
    X, _ = cancer
    assert main(["train", "cancer", "-q"]) == 0
    assert main(["convert", "cancer.model", "cancer.libsvm"]) == 0
    assert main(["convert", "cancer.libsvm", "again.model", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "widemargin"
    X = csr_matrix(X)
    np.testing.assert_allclose(
        load("again.model").decision_function(X), load("cancer.model").decision_function(X), atol=1e-6
    )


def test_convert_to_an_unknown_ending_is_refused_unless_the_format_is_given(cancer, folder, capsys):
    assert main(["train", "cancer", "-q"]) == 0
    for name in ("cancer.onx", "cancer2"):
        assert main(["convert", "cancer.model", name]) == 2
        assert ".model (widemargin), .libsvm (libsvm), .onnx (onnx), .pkl (sklearn)" in capsys.readouterr().err
        assert not (folder / name).exists()
    assert main(["convert", "cancer.model", "cancer2", "--to", "libsvm"]) == 0


def test_convert_a_pickle_only_if_trusted(cancer, capsys):
    import joblib

    X, y = cancer
    theirs = ScikitLearnSVC(C=2, tol=1e-4).fit(X, y)
    joblib.dump(theirs, "theirs.pkl")
    assert main(["convert", "theirs.pkl", "ours.model"]) == 2
    assert "widemargin convert --trust-pickle theirs.pkl" in capsys.readouterr().err
    assert main(["convert", "--trust-pickle", "theirs.pkl", "ours.model", "-q"]) == 0
    np.testing.assert_allclose(load("ours.model").decision_function(X), theirs.decision_function(X), atol=1e-9)
    assert main(["verify", "ours.model", "cancer"]) == 0
    assert main(["convert", "ours.model", "back.pkl", "-q"]) == 0
    np.testing.assert_allclose(joblib.load("back.pkl").decision_function(X), theirs.decision_function(X), atol=1e-9)


def test_convert_to_onnx(cancer):
    pytest.importorskip("widemargin.io.onnx_export")
    runtime = pytest.importorskip("onnxruntime")
    X, _ = cancer
    assert main(["train", "cancer", "-q"]) == 0
    assert main(["convert", "cancer.model", "cancer.onnx", "-q"]) == 0
    session = runtime.InferenceSession("cancer.onnx", providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    kind = np.float64 if "double" in session.get_inputs()[0].type else np.float32
    answers = session.run(None, {name: X.astype(kind)})[0]
    assert np.mean(answers.ravel() == load("cancer.model").predict(csr_matrix(X))) > 0.99


def test_plot_writes_a_picture(cancer, folder, capsys):
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot

    assert main(["train", "cancer", "-q"]) == 0
    assert main(["plot", "cancer.model", "cancer", "-o", "cancer.png", "--dpi", "60"]) == 0
    assert (folder / "cancer.png").read_bytes().startswith(b"\x89PNG")
    assert main(["plot", "cancer.model", "cancer", "-o", "nowhere/cancer.png"]) == 2
    matplotlib.pyplot.close("all")


@pytest.fixture
def drawn(monkeypatch):
    """The figures that commands save, which they close afterwards."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    return figures


def axis_labels(figure):
    return figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()


def test_axes_carry_the_names_of_columns(people, drawn):
    train = ["train", "people.csv", "-q", "-o", "m", "--drop", "town"]
    assert main([*train, "--target", "rich", "--scale", "standard"]) == 0
    assert main(["plot", "m", "people.csv", "-q"]) == 0
    assert axis_labels(drawn[-1]) == ("age (scaled)", "number (scaled)")
    assert main([*train, "--target", "number", "--drop", "rich", "-s", "svr"]) == 0
    assert main(["plot", "m", "people.csv", "-q"]) == 0
    assert axis_labels(drawn[-1]) == ("age", "number")


def test_a_picture_is_drawn_along_chosen_columns(people, drawn, capsys):
    assert main(["train", "people.csv", "-q", "-o", "m", "--target", "rich"]) == 0
    assert main(["plot", "m", "people.csv", "-q", "--along", "-1", "--along", "town=Rome"]) == 0
    assert axis_labels(drawn[-1]) == ("number", "town=Rome")
    for given, words in (
        (["--along", "age"], "kind boundary is drawn along two features: --along COLUMN --along COLUMN"),
        (["--along", "age", "--along", "wage"], "X has no feature 'wage'; its features are age, town=Bern"),
        (["--along", "age", "--kind", "kkt"], "kind kkt is not drawn along features"),
    ):
        assert main(["plot", "m", "people.csv", *given]) == 2
        assert words in " ".join(capsys.readouterr().err.split())


def test_report_writes_a_page(cancer, folder):
    assert main(["train", "cancer", "-q", "--report", "trained.html"]) == 0
    assert main(["report", "cancer.model", "cancer", "-o", "cancer.html", "-q"]) == 0
    for name in ("trained.html", "cancer.html"):
        assert "</html>" in (folder / name).read_text().lower()


def test_bench_certifies_both(cancer, capsys):
    assert main(["bench", "cancer", "--samples", "100", "--repeats", "1", "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    assert given["samples"] == 100
    for result in given["results"].values():
        assert result["holds"] is True
        assert result["violation"] <= 1e-3 * 1.001
        assert result["fit_seconds"] > 0
    scores = [result["score"] for result in given["results"].values()]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)
    assert main(["bench", "cancer", "--repeats", "1", "-s", "oneclass"]) == 0
    assert "widemargin" in capsys.readouterr().out
    assert main(["bench", "cancer", "-t", "laplacian"]) == 2


def test_bench_compiles_before_it_times(cancer, monkeypatch):
    monkeypatch.setattr(_jit.INTERPRETING, "own", 0.0)
    assert main(["bench", "cancer", "--samples", "100", "--repeats", "1", "-q"]) == 0
    assert _jit.INTERPRETING.own == np.inf


def test_warmup_runs_its_tasks_and_counts(monkeypatch, capsys):
    two = warmup.tasks()[:2]
    monkeypatch.setattr(warmup, "tasks", lambda: two)
    assert main(["warmup", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["compiled"] >= 0
    assert warmup.run_task(0) == (two[0][0], 0)


def test_warmup_knows_every_machine_and_named_kernel():
    words = {word for label, _ in warmup.tasks() for word in label.split(", ")}
    assert {*widemargin.kernels.KERNEL_NAMES, *ESTIMATORS} <= words


AFTER_WARMUP = """
import warnings
import numpy as np, scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits
import widemargin as w
from widemargin import _jit
from widemargin.cli.screen import compilations
warnings.simplefilter("ignore")
_jit.compile_at_once()
rng = np.random.default_rng(0)
big = rng.normal(size=(4000, 10))
text = sp.random(1500, 5000, 0.01, "csr", random_state=0)
bits = (rng.random((3000, 123)) < 0.1).astype(float)
ones = bits[:, :20].sum(axis=1) > 2
sets = {
    "digits": load_digits(return_X_y=True), "dense": load_breast_cancer(return_X_y=True),
    "large": (big, big[:, 0] * big[:, 1] > 0), "sparse": (text, rng.integers(0, 3, 1500)),
    "binary": (bits, ones), "sparse binary": (sp.csr_matrix(bits), ones),
}
with compilations() as compiled:
    for name, (X, y) in sets.items():
        for model in (w.SVC(), w.SVC(kernel="linear"), w.SVC(kernel="poly"), w.NuSVC(nu=0.1), w.OneClassSVM(nu=0.1),
                      w.SVR(), w.LinearSVC(), w.LinearSVR()):
            model.fit(X, y).predict(X)
            model.predict(X[:1])
            print(name, model, compiled.count)
"""


@pytest.mark.needs_compiler
@pytest.mark.slow
def test_warmup_leaves_nothing_to_compile():
    for command in (["-m", "widemargin", "warmup", "--quiet"], ["-c", AFTER_WARMUP]):
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stderr
    offenders = [line for line in done.stdout.splitlines() if not line.endswith(" 0")]
    assert offenders == []


@pytest.mark.needs_compiler
def test_compilations_are_counted():
    from widemargin._jit import jit
    from widemargin.cli.screen import compilations

    @jit(cache=False)
    def fresh(x):
        return x + 1

    with compilations() as compiled:
        assert fresh(1) == 2
        assert fresh(2) == 3
    assert compiled.count == 1
    with compilations() as compiled:
        fresh(3)
    assert compiled.count == 0


def test_info(capsys):
    assert main(["info", "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    assert given["widemargin"] == widemargin.__version__
    assert given["numpy"] == np.__version__
    assert given["threads"] >= 1
    assert main(["info"]) == 0
    assert "compiled functions in" in capsys.readouterr().out


def test_info_describes_a_model_file(people, capsys):
    assert main(["train", "people.csv", "--target", "rich", "-c", "10", "-o", "m", "--scale", "minmax", "-q"]) == 0
    assert main(["info", "m", "--json"]) == 0
    given, model = json.loads(capsys.readouterr().out), load("m")
    assert given["written_by"] == widemargin.__version__ and given["machine"] == "SVC"
    assert given["parameters"] == {"C": 10.0, "gamma": "auto", "kernel": "rbf", "tol": 1e-3}
    assert given["kernel"] == "Gaussian(gamma=0.2)" and given["classes"] == ["no", "yes"]
    assert given["features"] == ["age", "town=Bern", "town=Oslo", "town=Rome", "number"]
    assert given["n_samples"] == 80 and given["n_support"] == model.n_support_.sum() and given["target"] == "rich"
    assert given["certificate"]["holds"] and given["certificate"]["iterations"] == model.certificate_.iterations
    assert main(["info", "m"]) == 0
    said = capsys.readouterr().out
    for words in ("C=10.0, gamma=auto", "5: age, town=Bern", "numbers are scaled to [0, 1]", "as stated in the file"):
        assert words in " ".join(said.split())


def test_info_of_a_libsvm_model_states_no_more_than_its_file(cancer, capsys):
    assert main(["train", "cancer", "-q"]) == 0
    assert main(["convert", "cancer.model", "cancer.libsvm", "-q"]) == 0
    assert main(["info", "cancer.libsvm", "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    assert given["file"] == "LIBSVM model" and "C" not in given["parameters"]
    assert given["certificate"] is None and given["n_samples"] is None
    assert main(["info", "cancer"]) == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "_WIDEMARGIN_COMPLETE" in capsys.readouterr().out


def test_completion_knows_commands_options_and_words():
    from click.shell_completion import ShellComplete

    from widemargin.cli.main import widemargin as group

    complete = ShellComplete(group, {}, "widemargin", "_WIDEMARGIN_COMPLETE")

    def words(arguments, begun):
        return [item.value for item in complete.get_completions(arguments, begun)]

    assert words([], "") == list(COMMANDS)
    assert words(["train"], "--tim") == ["--time-limit"]
    assert words(["train", "--kernel"], "la") == ["laplacian"]
    assert words(["train", "--gamma"], "") == ["auto", "scale"]
