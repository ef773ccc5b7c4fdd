"""Reports say what the model and the data say, for every kind of machine, and nothing can be smuggled into them."""

import html

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import confusion_matrix, r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tests.report.reading import Page
from widemargin import SVC, SVR, LinearSVC, NuSVC, OneClassSVM
from widemargin.io import (
    Preparation,
    Table,
    from_sklearn,
    load,
    read_libsvm_model,
    read_table,
    save,
    write_libsvm_model,
)
from widemargin.report import write_report
from widemargin.report.charts import Axis, axis
from widemargin.report.regions import regions
from widemargin.report.subject import subject_of

CANCER = load_breast_cancer()
IRIS = load_iris()
DIABETES = load_diabetes()
SECTIONS = [
    "What was trained",
    "How close to the optimum",
    "How good the answers are",
    "Hardest examples",
    "How training went",
    "Support vectors",
    "Scale of the features",
    "How to reproduce this",
]


def report(tmp_path, model, X, y, **options):
    """The page as a reader finds it, and its text."""
    path = write_report(model, X, y, tmp_path / "page.html", **options)
    text = path.read_text(encoding="utf-8")
    return Page(text), text


@pytest.fixture(scope="module")
def two_classes():
    """A model with probabilities and history, data it has not seen, and their labels."""
    X, y = CANCER.data, CANCER.target_names[CANCER.target]
    model = SVC(C=10.0, probability=True, random_state=0).fit(X[::2], y[::2])
    model.history_ = {
        "problem": np.array([0, 0, 0]),
        "iterations": np.array([0, 40, 90]),
        "violation": np.array([2.0, 0.1, 5e-4]),
        "gap": np.array([np.inf, 0.2, 1e-5]),
        "n_support": np.array([0, 80, 75]),
    }
    return model, X[1::2], y[1::2]


def test_two_classes(tmp_path, two_classes):
    model, X, y = two_classes
    page, text = report(tmp_path, model, X, y, title="Breast <cancer>", feature_names=CANCER.feature_names)
    assert page.headings == SECTIONS
    assert "<h1>Breast &lt;cancer&gt;</h1>" in text
    predicted = model.predict(X)
    wrong = int(np.sum(predicted != y))
    assert page.fact("Accuracy") == f"{100 * np.mean(predicted == y):.1f} % ({wrong} of {len(y)} samples wrong)"
    assert page.fact("Machine") == "SVC"
    assert page.fact("Samples in training") == "285"
    assert page.fact("Samples in this report") == f"{len(y)} (dense), other data than those of training"
    counts = confusion_matrix(y, predicted, labels=model.classes_)
    assert page.table("Confusion matrix")[1:] == [
        ["benign", *map(str, counts[0])],
        ["malignant", *map(str, counts[1])],
    ]
    area = roc_auc_score(y == "malignant", model.decision_function(X))
    assert page.tiles["Area under ROC"] == f"{area:.4g}"
    assert f"Mean area {area:.4f}" in page.figures["ROC curve"]
    assert "Calibration" in page.figures
    assert "it ends at 0.0005" in page.figures["Towards the optimum"]
    assert page.figures["Support vectors on the way"].endswith("75 at the end.")
    assert any("very different scales: \u201cworst area\u201d varies" in told for told in page.paragraphs)
    assert not any("data the model was trained on:" in told for told in page.paragraphs)


def test_the_certificate_in_words(tmp_path, two_classes):
    model, X, y = two_classes
    page, text = report(tmp_path, model, X, y)
    certificate = model.certificate_
    assert 'class="verdict good">certified<' in text
    told = next(told for told in page.paragraphs if told.startswith("Its training problem is solved"))
    assert f"is at most {certificate.violation:.3g}, within the tolerance of 0.001" in told
    assert page.fact("Upper bound on the optimum (primal)") == f"{certificate.primal:.10g}"
    with pytest.warns(match="max_iter|steps"):
        unfinished = SVC(C=10.0, max_iter=3).fit(X, y)
    page, text = report(tmp_path, unfinished, X, y)
    assert 'class="verdict bad">not certified<' in text
    told = next(told for told in page.paragraphs if told.startswith("The model is not optimal"))
    assert "more than the tolerance of 0.001" in told
    assert unfinished.status_.value.split(".")[0] in told


def test_the_hardest_examples_are_the_hardest(tmp_path, two_classes):
    model, X, y = two_classes
    page, _ = report(tmp_path, model, X, y, n_hardest=4)
    side = np.where(y == model.classes_[1], 1.0, -1.0) * model.decision_function(X)
    head, *rows = page.table("The 4 hardest of")
    assert head == ["Sample", "True", "Answer", "Margin", "Unusual about it"]
    order = np.argsort(side)[:4]
    assert [int(row[0]) for row in rows] == order.tolist()
    assert [row[1] for row in rows] == y[order].tolist()
    assert [float(row[3]) for row in rows] == pytest.approx(side[order], rel=5e-3)


def test_several_classes_and_training_data(tmp_path):
    X, y = sp.csr_matrix(IRIS.data), IRIS.target
    model = NuSVC(nu=0.2).fit(X, y)
    page, _ = report(tmp_path, model, X, y)
    assert page.fact("Samples in this report") == "150 (sparse), the training data"
    assert any(told.startswith("These are the data the model was trained on") for told in page.paragraphs)
    assert len(page.table("Confusion matrix")) == 4
    assert "ROC curves, each class against the rest" in page.figures
    assert any("Train with probability=True" in told for told in page.paragraphs)
    assert any("Fit with trace=True" in told for told in page.paragraphs)
    values = model._decision_values(X)
    first = page.table("The 10 hardest of")[1]
    sides = {0: (values[:, 0], values[:, 1]), 1: (-values[:, 0], values[:, 2]), 2: (-values[:, 1], -values[:, 2])}
    least = np.array([min(side[i] for side in sides[y[i]]) for i in range(150)])
    assert int(first[0]) == least.argmin()
    assert float(first[3]) == pytest.approx(least.min(), rel=5e-3)


def test_regression(tmp_path):
    model = SVR(C=50.0, epsilon=10.0).fit(DIABETES.data, DIABETES.target)
    page, _ = report(tmp_path, model, DIABETES.data, DIABETES.target, feature_names=DIABETES.feature_names)
    residual = DIABETES.target - model.predict(DIABETES.data)
    assert page.tiles["R\u00b2 on training data"] == f"{r2_score(DIABETES.target, model.predict(DIABETES.data)):.4g}"
    assert page.fact("Largest absolute error") == f"{np.abs(residual).max():.4g}"
    assert page.fact("Samples within the tube of 10") == f"{100 * np.mean(np.abs(residual) <= 10):.1f} %"
    assert {"Predictions against targets", "Residuals"} <= set(page.figures)
    assert int(page.table("The 10 hardest")[1][0]) == np.abs(residual).argmax()


def test_one_class_with_and_without_labels(tmp_path):
    X = IRIS.data
    model = OneClassSVM(nu=0.1).fit(X)
    page, _ = report(tmp_path, model, X, None)
    outside = int(np.sum(model.predict(X) == -1))
    assert page.tiles["Outside the region on training data"] == f"{outside / 1.5:.1f} %"
    page, _ = report(tmp_path, model, X, np.where(IRIS.target == 2, -1, 1))
    assert "Area under ROC against them" in [row[0] for row in page.table("Samples inside and outside")]


def test_what_a_file_states_is_computed_anew_or_called_so(tmp_path):
    X, y = IRIS.data, IRIS.target
    model = SVC().fit(X, y)
    save(model, tmp_path / "honest")
    model.dual_coef_ = 0.01 * model.dual_coef_  # saved with a checksum that fits, and the certificate of before
    save(model, tmp_path / "changed")
    honest, changed = load(tmp_path / "honest"), load(tmp_path / "changed")
    page, text = report(tmp_path, honest, X, y)
    assert 'class="verdict good">certified<' in text and "computed for this report" in text
    page, text = report(tmp_path, changed, X, y)
    assert 'class="verdict bad">not certified<' in text
    assert any("but computed anew from these data it does not" in told for told in page.paragraphs)
    for stated in (honest, changed):  # without the training data nobody knows
        page, text = report(tmp_path, stated, X + 0.1, y)
        assert "problem, as stated in the file</p>" in text
        assert any("it is as reliable as the file" in told for told in page.paragraphs)
    save(LinearSVC().fit(X, y), tmp_path / "linear")
    assert "problem, as stated in the file</p>" in report(tmp_path, load(tmp_path / "linear"), X, y)[1]


def test_models_that_came_from_elsewhere(tmp_path):
    X, y = IRIS.data, IRIS.target
    theirs = from_sklearn(sklearn.svm.SVC().fit(X, y))
    page, _ = report(tmp_path, theirs, X, y)
    assert any(
        told.startswith("Its training problem is solved") for told in page.paragraphs
    )  # computed from the training data
    page, _ = report(tmp_path, theirs, X + 0.1, y)
    assert any(told.startswith("This model carries no certificate") for told in page.paragraphs)
    write_libsvm_model(theirs, tmp_path / "libsvm.model")
    page, _ = report(tmp_path, read_libsvm_model(tmp_path / "libsvm.model"), X, y)
    assert "of which it is not known whether" in page.fact("Samples in this report")
    assert page.fact("Support vectors") == str(len(theirs.support_))
    assert not any(row[0] == "Samples in training" for row in page.table("Model and data"))
    save(SVC().fit(X, y), tmp_path / "own.model")
    page, _ = report(tmp_path, load(tmp_path / "own.model"), X, y)
    assert page.headings == SECTIONS
    page, _ = report(tmp_path, KernelRidge().fit(X, y.astype(float)), X, y.astype(float))
    assert "Support vectors" not in page.headings


def test_kernels_of_matrices_and_of_functions(tmp_path):
    X, y = IRIS.data[:100], IRIS.target[:100]
    page, _ = report(tmp_path, SVC(kernel="precomputed").fit(X @ X.T, y), X @ X.T, y)
    assert "The kernel was given as a matrix: there are no features to scale." in page.paragraphs
    words = ["ab", "abab", "b", "bbb", "a", "ba"]
    shared = SVC(kernel=lambda a, b: np.array([[len(set(u) & set(v)) for v in b] for u in a], float))
    page, _ = report(tmp_path, shared.fit(words, [0, 0, 1, 1, 0, 1]), words, [0, 0, 1, 1, 0, 1])
    assert "The samples are no vectors of numbers: there are no features to scale." in page.paragraphs


def test_gamma_that_does_not_suit_is_named(tmp_path):
    X, y = IRIS.data, IRIS.target
    page, _ = report(tmp_path, SVC(gamma=1e3).fit(X, y), X, y)
    assert any("Try a smaller gamma" in told for told in page.paragraphs)
    page, _ = report(tmp_path, SVC(gamma=1e-5, C=1e4).fit(X, y), X, y)
    assert any("Try a larger gamma" in told for told in page.paragraphs)


def test_nothing_is_loaded_and_nothing_can_be_smuggled_in(tmp_path):
    evil = "<script>alert(1)</script>"
    X, y = IRIS.data[:100], np.where(IRIS.target[:100] == 0, evil, '"><img src=x>')
    names = [evil, "</style><p>", "a&b", "' onload='"]
    page, text = report(tmp_path, SVC().fit(X, y), X, y, title=evil, feature_names=names)
    assert not {"script", "img", "link", "iframe", "object"} & {name for name, _ in page.tags}
    assert not any(key.startswith("on") or key in ("src", "srcset") for _, own in page.tags for key in own)
    assert all(own["href"].startswith("#") for name, own in page.tags if name == "a")
    assert "http:" not in text
    assert "https:" not in text
    assert "default-src 'none'" in next(own["content"] for _, own in page.tags if "http-equiv" in own)
    assert evil in page.fact("Classes")


def test_every_table_has_headers_and_every_picture_words(tmp_path, two_classes):
    page, text = report(tmp_path, *two_classes)
    for name, attributes in page.tags:
        if name == "th":
            assert attributes["scope"] in ("row", "col")
        if name == "svg":
            named = attributes.get("role") == "img" and attributes.get("aria-labelledby")
            assert named or attributes.get("aria-hidden") == "true"
    assert all(page.figures.values())
    identifiers = [own["id"] for _, own in page.tags if "id" in own]
    assert len(identifiers) == len(set(identifiers))
    assert {own["href"][1:] for name, own in page.tags if name == "a"} <= set(identifiers)
    assert '<html lang="en">' in text


def test_what_does_not_fit_together(tmp_path):
    X, y = IRIS.data, IRIS.target
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match="A report on a SVC needs y"):
        report(tmp_path, model, X, None)
    with pytest.raises(ValueError, match="X has 150 samples and y has 3"):
        report(tmp_path, model, X, y[:3])
    with pytest.raises(ValueError, match="y holds the label .*7.*, which the model does not know"):
        report(tmp_path, model, X, np.full(150, 7))
    with pytest.raises(ValueError, match="There are 2 feature names for 4 features"):
        report(tmp_path, model, X, y, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="0 sample|no samples"):
        report(tmp_path, model, X[:0], y[:0])
    assert not (tmp_path / "page.html").exists()


def test_axes_have_round_numbers():
    assert Axis("", 0.0, 1.0).ticks() == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert Axis("", 3.0, 47.0).ticks() == pytest.approx([10.0, 20.0, 30.0, 40.0])
    assert Axis("", 1e-3, 10.0, log=True).ticks() == pytest.approx([1e-3, 1e-2, 0.1, 1.0, 10.0])
    assert Axis("", 0.01, 1.0, log=True).place([0.01, 0.1, 1.0, 0.0], 0.0, 10.0) == pytest.approx([0.0, 5.0, 10.0, 0.0])
    constant = axis("", [5.0, 5.0])
    assert constant.low < 5.0 < constant.high
    assert axis("", [np.nan]).ticks()
    assert axis("", [0.0, np.inf], log=True).ticks() == pytest.approx([1.0, 10.0])


@given(data=st.data())
def test_any_data_give_a_page(tmp_path, data):
    """A single sample, one class only, constant or huge features, targets without spread."""
    random = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    n_features, n_samples = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 12))
    scale = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 1e-8, 1.0, 1e9]), min_size=n_features, max_size=n_features))
    )
    X = random.normal(size=(30, n_features))
    Z = random.normal(size=(n_samples, n_features)) * scale
    kind = data.draw(st.sampled_from(["two", "three", "regression", "one class"]))
    if kind == "one class":
        page, _ = report(tmp_path, OneClassSVM(nu=0.3).fit(X), Z, None)
    elif kind == "regression":
        level = data.draw(st.sampled_from([0.0, 1e-12, 1.0, 1e12]))
        page, _ = report(tmp_path, SVR().fit(X, random.normal(size=30)), Z, level * random.normal(size=n_samples))
    else:
        classes = np.array(["a", "b", "c"][: 2 if kind == "two" else 3])
        model = SVC().fit(X, np.resize(classes, 30))
        page, _ = report(tmp_path, model, Z, random.choice(classes[: data.draw(st.integers(1, 3))], size=n_samples))
    assert page.headings == SECTIONS


WINE = load_wine(as_frame=True)


def test_a_model_on_raw_features_does_not_look_perfect(tmp_path):
    model = SVC(C=1e4).fit(WINE.data, WINE.target)
    page, text = report(tmp_path, model, WINE.data, WINE.target)
    assert "Accuracy on training data" in page.tiles
    above = text[: text.index("What was trained")]
    assert "The features are not scaled: \u201cproline\u201d varies 2,530 times" in above
    assert "Before you rely on it" in above
    assert "says nothing about how good its answers are" in above
    scaled = make_pipeline(StandardScaler(), SVC()).fit(WINE.data[::2], WINE.target[::2])
    _, text = report(tmp_path, scaled, WINE.data[1::2], WINE.target[1::2])
    assert "Before you rely on it" not in text


def test_scaling_is_advised_in_the_words_of_where_the_model_was_trained(tmp_path):
    X, y = WINE.data.to_numpy(), WINE.target.to_numpy()
    model = SVC(C=1e4).fit(X, y)
    words = " ".join(report(tmp_path, model, X, y)[1].split())
    assert words.count("Train make_pipeline(StandardScaler(), SVC(...)) instead") == 2
    model.preparation_ = {"format": "libsvm", "zero_based": False}
    words = " ".join(report(tmp_path, model, X, y)[1].split())
    assert words.count("Train on what `widemargin scale` makes of the data instead") == 2
    subject = subject_of(model, X, y, None)
    model.preparation_ = {"format": "table"}
    assert subject.trains_scaled == "with --scale standard"


def test_pipelines(tmp_path):
    scaler = StandardScaler().fit(WINE.data)
    pipeline = make_pipeline(scaler, SVC(C=10.0)).fit(WINE.data, WINE.target)
    alone = SVC(C=10.0).fit(scaler.transform(WINE.data), WINE.target)
    page, text = report(tmp_path, pipeline, WINE.data, WINE.target)
    other, _ = report(tmp_path, alone, scaler.transform(WINE.data), WINE.target)
    assert page.tiles["Accuracy on training data"] == other.tiles["Accuracy on training data"]
    assert page.fact("Preparation of the data") == "StandardScaler"
    assert "from sklearn.preprocessing import StandardScaler" in text
    assert "model = make_pipeline(StandardScaler(), SVC(C=10.0)).fit(X, y)" in text
    hard = next(rows for caption, rows in page.tables.items() if "hardest" in caption)
    raw = WINE.data.iloc[int(hard[1][0])]
    named = next(row[-1] for row in hard[1:] if " = " in row[-1])
    assert named.split(" = ")[0] in raw.index  # in units of the file, not of the scaler
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [10.0]}, cv=3).fit(WINE.data, WINE.target)
    assert report(tmp_path, search, WINE.data, WINE.target)[0].tiles.keys() == page.tiles.keys()


def test_text_columns(tmp_path):
    people = pd.DataFrame({"age": np.arange(40.0), "town": ["Oslo", "Rome"] * 20})
    steps = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["town"]))
    model = make_pipeline(steps, SVR()).fit(people, people.age)
    _, text = report(tmp_path, model, people, people.age)
    assert "from sklearn.preprocessing import OneHotEncoder" in text
    assert "onehotencoder__town_Rome" in text


def test_a_model_of_a_file_knows_the_names_of_its_columns(tmp_path):
    table = Table("people", {"age": np.arange(40.0), "town": np.array(["Oslo", "Rome"] * 20, object)})
    preparation = Preparation.fit(table, None, "standard")
    X, _ = preparation.matrix(table)
    model = SVC().fit(X, np.arange(40) > 12)
    model.preparation_ = preparation.as_plain()
    page, _ = report(tmp_path, model, X, np.arange(40) > 12)
    rows = dict(page.tables["Columns of the file as the model sees them"][1:])
    assert rows == {"age": "(x \u2212 19.5) / 11.54", "town": "one 0/1 feature for each of 2 categories"}
    spread = next(rows for caption, rows in page.tables.items() if caption.startswith("Features by spread"))
    assert {row[0] for row in spread[1:]} == {"age", "town=Oslo", "town=Rome"}


def test_the_preparation_of_a_file_is_named_and_can_be_repeated(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    ages, towns = rng.integers(20, 70, 60).astype(str), rng.choice(["Oslo", "Rome", ""], 60)
    ages[5] = "NA"
    rows = [f"{a},{t},{a},{n % 3},{'yes' if n % 4 else 'no'}" for n, (a, t) in enumerate(zip(ages, towns))]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("\n".join(["age,town,spare,floor,buys", *rows]))
    table = read_table("people.csv", texts=["floor", "spare"])
    preparation = Preparation.fit(table, "buys", "minmax", ["floor"], ["spare"], impute=True)
    X, y = preparation.matrix(table)[0], preparation.targets(table)
    model = SVC(C=3.0).fit(X, y)
    model.preparation_ = preparation.as_plain()
    save(model, "saved")
    page, text = report(tmp_path, load("saved"), X, y)
    facts = dict(page.tables["Model and data"])
    assert facts["Preparation of the data"] == (
        "a table; target: buys; texts become 0/1 features; numbers are scaled to [0, 1]; "
        "empty cells are filled in: the median of numbers, the most frequent text"
    )
    becomes = dict(page.tables["Columns of the file as the model sees them"][1:])
    age, town = preparation.columns[:2]
    assert becomes["age"].endswith(f"; empty cells count as {age.filling:g}")
    assert becomes["town"] == f"one 0/1 feature for each of 2 categories; empty cells count as {town.filling}"
    program = html.unescape(text.split("<pre><code>")[1].split("</code>")[0])
    made: dict = {}
    exec(program.replace("FILE", "people.csv"), made)
    np.testing.assert_array_equal(made["X"], X)
    np.testing.assert_allclose(made["model"].decision_function(X), model.decision_function(X), atol=1e-9)


def test_long_pipelines_are_written_in_full(tmp_path):
    X = pd.DataFrame({f"measurement number {k:03}": np.arange(40.0) % (k + 2) for k in range(60)})
    ways = [(StandardScaler(), list(X.columns[begin : begin + 6])) for begin in range(0, 60, 6)]
    model = make_pipeline(make_column_transformer(*ways), SVC()).fit(X, np.arange(40) % 2)
    program = html.unescape(
        report(tmp_path, model, X, np.arange(40) % 2)[1].split("<pre><code>")[1].split("</code>")[0]
    )
    made = {"X": X, "y": np.arange(40) % 2}
    exec(program, made)
    np.testing.assert_array_equal(made["model"].decision_function(X), model.decision_function(X))


def test_costs_of_training_are_left_out_where_they_are_not_known(tmp_path):
    X, y = IRIS.data, IRIS.target
    model = SVC().fit(X, y)
    save(model, tmp_path / "saved")
    costs = {"Steps of the solver", "Rows of the kernel matrix computed", "Seconds of training"}
    for one, source, known in (
        (model, "computed at the end of training", costs),
        (load(tmp_path / "saved"), "computed for this report", set()),
    ):
        page, _ = report(tmp_path, one, X, y)
        assert costs & {row[0] for row in page.tables[f"The certificate, {source}"]} == known


def test_the_boundary_is_drawn(tmp_path):
    X, y = IRIS.data[:, :2], IRIS.target
    page, text = report(tmp_path, SVC().fit(X, y), X, y)
    assert "answer at each place" in page.figures["Where which answer is given"]
    model = SVC().fit(X, y)
    found = regions(subject_of(model, X, y, None))[0]
    areas = [(one.x[:, 1] - one.x[:, 0]) @ (one.y[:, 1] - one.y[:, 0]) for one in found.series if one.kind == "cells"]
    whole = (found.x.high - found.x.low) * (found.y.high - found.y.low)
    assert sum(areas) == pytest.approx(whole)  # every place has one answer
    grid = np.random.default_rng(0).uniform([found.x.low, found.y.low], [found.x.high, found.y.high], (4000, 2))
    np.testing.assert_allclose(np.array(areas) / whole, np.bincount(model.predict(grid)) / 4000, atol=0.03)
