"""`widemargin.toy` in a notebook: traits both ways, and the module that notebooks load."""

import json
import sys

import numpy as np
import pytest
from sklearn.datasets import make_moons

import widemargin
from widemargin.playground.page import notebook_module, style

pytest.importorskip("anywidget")

X, Y = make_moons(40, noise=0.2, random_state=0)


def test_points_parameters_and_model_are_python_objects():
    toy = widemargin.toy(X, np.where(Y, "up", "down"), C=10, gamma=2.0)
    assert len(toy.points) == 40 and toy.points[0][2] in (0, 1)
    model = toy.model
    assert model is toy.model  # fitted once
    assert sorted(model.classes_) == ["down", "up"]
    assert (model.C, model.gamma) == (10, 2.0)
    reference = widemargin.SVC(C=10, gamma=2.0).fit(toy.X, np.where(Y, "up", "down"))
    assert model.certificate_.objective == pytest.approx(reference.certificate_.objective)
    toy.parameters = {**toy.parameters, "kernel": "linear"}
    assert toy.model.kernel == "linear"
    toy.points = [[0, 0, 0], [1, 1, 1], [0, 1, 2]]
    assert toy.y.tolist() == ["down", "up", "class 3"]
    assert toy.model.classes_.tolist() == ["class 3", "down", "up"]


@pytest.mark.parametrize("names", [(0, 1), (1, 2), (-1, 1), (1.0, 2.0), (False, True)], ids=str)
def test_classes_keep_their_type(names):
    labels = np.asarray(names)[Y]
    toy = widemargin.toy(X, labels)
    assert toy.y.dtype == labels.dtype and np.array_equal(toy.y, labels)
    assert toy.model.score(toy.X, labels) > 0.8
    toy.points = [*toy.points[:20], [9.0, 9.0, 2]]  # a class that the page has added
    assert len(set(toy.y.tolist())) == len(toy.model.classes_) == 3
    if not isinstance(names[0], bool):
        assert toy.y[-1] == names[1] + 1


def test_a_class_placed_on_the_page_is_none_of_the_data_s():
    toy = widemargin.toy([[0, 0], [1, 1], [2, 0]], [0, 1, 3])
    toy.points = [*toy.points, [3, 3, 3]]
    assert toy.y.tolist() == [0, 1, 3, 4] and len(toy.model.classes_) == 4


@pytest.mark.parametrize("label", [-1, 8, 0.5])
def test_a_class_that_the_page_does_not_have_is_refused(label):
    with pytest.raises(ValueError, match="class of a point"):
        widemargin.toy(X, Y).points = [[0, 0, label], [1, 1, 1]]


def test_other_machines():
    line = np.linspace(0, 3, 20)
    regression = widemargin.toy(line, np.sin(line), machine="svr", epsilon=0.05, C=10)
    assert regression.X.shape == (20, 1)
    assert np.abs(regression.model.predict(regression.X) - np.sin(line)).max() < 0.06
    cloud = widemargin.toy(X)
    assert cloud.parameters["machine"] == "oneclass" and cloud.y is None
    assert type(cloud.model).__name__ == "OneClassSVM"
    assert widemargin.toy().points == []


@pytest.mark.parametrize(
    "arguments, settings, message",
    [
        ((np.ones((5, 3)),), {}, "two columns"),
        ((np.ones((400, 2)), np.arange(400) % 2), {}, r"X\[::2\]"),
        ((np.array([[0.0, np.nan]]), [0]), {}, "finite"),
        ((X, np.arange(40) % 9), {}, "9 classes"),
        ((X, Y[:-1]), {}, "40 rows and y has 39"),
        ((X[:, 0],), {"machine": "svr"}, "needs targets"),
        ((X, Y), {"kernel": "chi2"}, "kernel must be one of"),
        ((X, Y), {"C": "high"}, "C must be a number"),
    ],
)
def test_wrong_data_is_an_error_with_advice(arguments, settings, message):
    with pytest.raises(ValueError, match=message):
        widemargin.toy(*arguments, **settings)


def test_unknown_parameters_and_traits():
    with pytest.raises(TypeError, match="no parameter tol"):
        widemargin.toy(X, Y, tol=1)
    toy = widemargin.toy(X, Y)
    with pytest.raises(ValueError, match="A point is"):
        toy.points = [[0, float("inf"), 0]]
    with pytest.raises(ValueError, match="machine must be one of"):
        toy.parameters = {"machine": "x"}


def test_without_anywidget(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "widemargin.playground.notebook", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'widemargin\[toy\]'"):
        widemargin.toy()


def test_a_request_of_the_page_is_answered():
    toy = widemargin.toy(X, Y)
    objective = widemargin.SVC(gamma=1.0, tol=1e-8).fit(toy.X, toy.y).certificate_.objective
    toy.request = {
        "number": 3,
        "points": toy.points,
        "parameters": toy.parameters,
        "objective": objective,
        "support": 1,
    }
    assert toy.answer["number"] == 3 and toy.answer["agrees"]


def test_the_notebook_s_module_in_a_browser(browser):
    """With the model that anywidget's specification describes: get, set, on, save_changes."""
    page = browser.open("about:blank")
    toy = widemargin.toy(X, Y, C=5.0)
    values = {"home": "notebook", "points": toy.points, "parameters": toy.parameters, "answer": {}}
    values["request"] = {"number": 1}  # of a view shown before
    page.run(
        f"""(async () => {{
          const values = {json.dumps(values)}, listeners = {{}}, saved = globalThis.saved = [];
          const model = globalThis.model = {{ get: (n) => values[n], save_changes: () => saved.push({{ ...values }}),
            set: (n, v) => {{ values[n] = v; }}, on: (e, f) => (listeners[e] ??= []).push(f),
            receive: (n, v) => {{ values[n] = v; (listeners["change:" + n] ?? []).forEach((f) => f()); }} }};
          const text = {json.dumps(notebook_module())};
          const module = await import("data:text/javascript;charset=utf-8," + encodeURIComponent(text));
          const sheet = document.createElement("style");
          sheet.textContent = {json.dumps(style())};
          document.head.append(sheet);
          const el = document.createElement("div"); el.id = "wm-toy"; document.body.append(el);
          module.default.render({{ model, el }}); }})()"""
    )
    page.settle()
    assert page.run("document.querySelector('#wm-toy').toy.state.points.length") == 40
    assert page.run("document.querySelector('#wm-toy').toy.state.C") == 5
    page.run("model.receive('parameters', { ...model.get('parameters'), C: 7 })")
    page.settle()
    assert page.run("document.querySelector('#wm-toy').toy.state.C") == 7
    page.run("document.querySelector('#wm-toy').toy.set({ C: 3, points: [[0, 0, 0], [1, 1, 1]] })")
    page.wait("saved.length && saved.at(-1).points.length === 2 && saved.at(-1).parameters.C === 3")
    toy.parameters = page.run("saved.at(-1).parameters")
    assert toy.model.C == 3
    page.run("document.querySelector('[data-do=\"verify\"]').click()")
    page.wait("saved.at(-1).request.number === 2")
    assert page.errors == []
    page.close()
