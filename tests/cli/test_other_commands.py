"""convert, plot, report, bench, warmup, info, completion."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.svm import SVC as ScikitLearnSVC

import widemargin
from widemargin.cli import machines, warmup
from widemargin.cli.main import COMMANDS, main
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


def test_warmup_runs_its_tasks_and_counts(monkeypatch, capsys):
    ran = []
    todo = [("one", lambda: ran.append(1)), ("two", lambda: ran.append(2))]
    monkeypatch.setattr(warmup, "tasks", lambda: iter(todo))
    assert main(["warmup", "--json"]) == 0
    if not widemargin._jit.INTERPRETED:
        assert ran == [1, 2]
    assert json.loads(capsys.readouterr().out)["compiled"] == 0


def test_warmup_knows_every_machine_and_named_kernel():
    labels = [label for label, _ in warmup.tasks()]
    named = set(widemargin.kernels.KERNEL_NAMES)
    assert named <= {label.split(",")[0] for label in labels}
    assert {"SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"} <= set(labels)


def test_warmup_gives_every_machine_data_that_it_accepts(monkeypatch):
    fitted = []

    def read(model, X, y):
        model._read(X, y, None)
        fitted.append(model)
        return SimpleNamespace(predict=lambda X: None)

    monkeypatch.setattr(machines, "fit_or_stop", read)
    for label, run in warmup.tasks():
        if label.split(",")[0] in widemargin.kernels.KERNEL_NAMES:
            run()
    assert {model.kernel for model in fitted} == set(widemargin.kernels.KERNEL_NAMES)


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
