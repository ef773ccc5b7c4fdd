"""The record of a fit is drawn as recorded, whichever way it was kept."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC
from widemargin.plots import ConvergenceDisplay, plot_convergence
from widemargin.training.trace import Trace


@pytest.fixture(scope="module")
def traced():
    X, y = make_moons(80, noise=0.25, random_state=1)
    trace = Trace()
    return SVC(C=4.0, solver=trace.of("platt")).fit(X, y), trace


def line(ax, label):
    return next(drawn for drawn in ax.lines if drawn.get_label() == label)


def test_lines_are_the_columns(traced):
    model, trace = traced
    display = ConvergenceDisplay.from_history(trace, tol=1e-3).plot()
    upper, lower = display.axes_
    along, violation = line(upper, "largest violation").get_data()
    np.testing.assert_array_equal(along, trace.iterations)
    np.testing.assert_array_equal(violation, np.where(trace.violation > 0.0, trace.violation, np.nan))
    gap = line(upper, "relative duality gap").get_ydata()
    np.testing.assert_array_equal(gap[trace.gap > 0], trace.gap[trace.gap > 0])
    excess = line(upper, "objective above its final value").get_ydata()
    np.testing.assert_allclose(excess[0], trace.objective[0] - trace.objective[-1])
    assert np.isnan(excess[-1])  # zero has no place on a logarithmic scale
    assert line(upper, "tol = 0.001").get_ydata()[0] == 1e-3
    np.testing.assert_array_equal(line(lower, "all").get_ydata(), trace.n_support)
    np.testing.assert_array_equal(line(lower, "free").get_ydata(), trace.n_free)
    assert lower.get_xlabel() == "steps" and upper.get_yscale() == "log"


def test_a_line_joins_the_records_that_know_their_gap():
    history = {"iterations": [0, 5, 9, 12], "gap": [1.0, np.nan, np.nan, 0.1]}
    drawn = line(ConvergenceDisplay.from_history(history).plot().ax_, "relative duality gap")
    np.testing.assert_array_equal(drawn.get_data(), [[0, 12], [1.0, 0.1]])


def test_a_machine_brings_its_history_and_tolerance(traced):
    model, trace = traced
    ax = plot_convergence(model, x="seconds")
    np.testing.assert_array_equal(line(ax, "largest violation").get_xdata(), trace.seconds)
    assert "tol = 0.001" in [text.get_text() for text in ax.get_legend().get_texts()]
    X, y = make_moons(40, random_state=0)
    pipe = make_pipeline(StandardScaler(), SVC(solver=Trace().of("platt"))).fit(X, y)
    assert plot_convergence(pipe, counts=False).get_xlabel() == "steps"
    with pytest.raises(ValueError, match="kept no history of its fit: fit it with trace=True"):
        plot_convergence(SVC().fit(X, y))


def test_every_way_to_keep_a_record(traced):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    _, trace = traced
    rows = trace.records[-1].rows
    expected = ConvergenceDisplay.from_history(trace).columns
    table = {name: [row[name] for row in rows] for name in rows[0]}
    for history in (rows, [rows], table, pandas.DataFrame(rows), polars.DataFrame(rows)):
        columns = ConvergenceDisplay.from_history(history).columns
        assert list(columns) == list(expected)
        for name, values in expected.items():
            np.testing.assert_array_equal(columns[name], values)


def test_of_several_problems_the_longest_or_the_chosen():
    X, y = make_blobs(90, centers=3, cluster_std=3.0, random_state=0)
    trace = Trace()
    SVC(solver=trace.of("platt"), n_jobs=1).fit(X, y)
    lengths = [len(record.rows) for record in trace.records]
    assert len(lengths) == 3
    assert len(ConvergenceDisplay.from_history(trace).columns["gap"]) == max(lengths)
    assert len(ConvergenceDisplay.from_history(trace, problem=1).columns["gap"]) == lengths[1]
    with pytest.raises(ValueError, match="no problem number 3: the history holds 3"):
        ConvergenceDisplay.from_history(trace, problem=3)


def test_a_column_tells_problems_apart():
    history = {
        "problem": np.array([0, 0, 1, 1, 1]),
        "iterations": np.array([0, 9, 0, 4, 7]),
        "gap": np.array([1.0, 0.1, 1.0, 0.2, 0.02]),
    }
    np.testing.assert_array_equal(ConvergenceDisplay.from_history(history).columns["iterations"], [0, 4, 7])
    np.testing.assert_array_equal(ConvergenceDisplay.from_history(history, problem=0).columns["gap"], [1.0, 0.1])
    with pytest.raises(ValueError, match="no problem number 2: the history holds 2"):
        ConvergenceDisplay.from_history(history, problem=2)

    model = SVC(tol=1e-2).fit([[0.0], [1.0]], [0, 1])
    model.history_ = history  # as fitted with trace=True
    ax = plot_convergence(model)
    np.testing.assert_array_equal(line(ax, "relative duality gap").get_ydata(), [1.0, 0.2, 0.02])
    np.testing.assert_array_equal(line(ax, "tol = 0.01").get_ydata(), [1e-2, 1e-2])


def test_a_given_place_is_divided(traced):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2)
    display = ConvergenceDisplay.from_history(traced[1]).plot(axes[0])
    assert display.axes_[0] is axes[0] and len(figure.axes) == 3
    figure.canvas.draw()
    upper, lower = (part.get_position() for part in display.axes_)
    assert lower.y1 < upper.y0 and lower.x1 < axes[1].get_position().x0
    assert ConvergenceDisplay.from_history(traced[1]).plot(axes[1], counts=False).axes_ == [axes[1]]


def test_unusable_histories():
    with pytest.raises(ValueError, match="The history is empty"):
        plot_convergence(Trace())
    for nothing in ([], {"iterations": [], "gap": []}):
        with pytest.raises(ValueError, match="The history is empty"):
            plot_convergence(nothing)
    with pytest.raises(ValueError, match="needs iterations or seconds"):
        plot_convergence({"loss": [1.0, 2.0]})
    with pytest.raises(ValueError, match="one of the recorded iterations; got 'seconds'"):
        plot_convergence({"iterations": [0, 1], "gap": [1.0, 0.1]}, x="seconds")
    one = plot_convergence({"iterations": [5], "seconds": [0.1], "gap": [1e-5], "n_support": [3]})
    assert "one record only" in one.get_title(loc="right")
