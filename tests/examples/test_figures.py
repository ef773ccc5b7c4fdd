"""The figures show what their texts say, and the page of pictures shows all of them."""

import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from examples.figures import __main__ as figures  # noqa: E402  (the backend without a screen must be chosen first)
from examples.figures import (  # noqa: E402
    bishop_4,
    bishop_7_2,
    cs229_ascent,
    cs229_margins,
    gallery,
    marsland_8_7,
    marsland_8_8,
    marsland_8_9,
    marsland_8_10,
    ten_solvers,
)
from widemargin import margins  # noqa: E402

DOCS = Path(__file__).parents[2] / "docs"
LARGEST_PICTURE, LARGEST_PAGE = 60_000, 600_000  # bytes


def errors(machine, X, y):
    return int((machine.predict(X) != y).sum())


def test_marsland_8_7_one_line_is_enough_for_the_first_data_only():
    wrong = [errors(machine, X, y) for _, machine, X, y in marsland_8_7.machines()]
    assert wrong == [0, 0, 0, 14, 0, 0]


def test_marsland_8_8_slack_pays_where_classes_overlap():
    wrong = {}
    for column, spread in enumerate(marsland_8_8.SPREADS):
        X, y = marsland_8_8.exclusive_or(spread, seed=10 + column)
        X_test, y_test = marsland_8_8.exclusive_or(spread, seed=20 + column)
        for slack, C in marsland_8_8.SLACK.items():
            machine, exists = marsland_8_8.trained(marsland_8_8.GAUSSIAN, C, X, y)
            wrong[spread, slack] = errors(machine, X_test, y_test)
            if slack == "no slack" and exists:
                assert errors(machine, X, y) == 0
    assert wrong[0.1, "no slack"] == wrong[0.1, "C = 0.1"] == 0
    assert wrong[0.3, "C = 0.1"] < wrong[0.3, "no slack"]
    assert wrong[0.4, "C = 0.1"] < wrong[0.4, "no slack"]
    X, y = marsland_8_8.exclusive_or(0.1, seed=10)
    assert marsland_8_8.trained(marsland_8_8.POLYNOMIAL, np.inf, X, y)[1]


def test_marsland_8_9_four_features_are_better_than_two():
    for settings in marsland_8_9.KERNELS.values():
        _, two, four = marsland_8_9.accuracies(settings)
        assert 0.6 < two < 0.85 and four > 0.9


def test_cs229_three_points_hold_the_margin_and_an_outlier_swings_it():
    (_, clean, X, y), (_, swung, X_out, y_out), (_, soft, _, _) = cs229_margins.machines()
    assert len(clean.support_) == 3
    width, narrow, wide = (1.0 / margins(m, *data).weight_norm for m, data in
                           ((clean, (X, y)), (swung, (X_out, y_out)), (soft, (X_out, y_out))))  # fmt: skip
    assert narrow < 0.5 * width and wide > width
    assert margins(clean, X, y).geometric_margin == pytest.approx(width, rel=2e-3)


def test_bishop_the_hard_margin_is_one_and_nu_bounds_the_support_vectors():
    (_, hard, X, y), (_, soft, X_over, y_over) = bishop_7_2.machines()
    assert margins(hard, X, y).functional_margin == pytest.approx(1.0, abs=2e-3)
    assert len(hard.support_) < len(X) / 2
    assert np.mean(soft.predict(X_over) != y_over) <= 0.35 <= len(soft.support_) / len(X_over)


def test_bishop_votes_leave_regions_to_nobody_and_classes_keep_their_own():
    X, y = bishop_4.three_classes()
    line = np.linspace(-bishop_4.REACH, bishop_4.REACH, 61)
    at = np.column_stack([each.ravel() for each in np.meshgrid(line, line)])
    for pairs in (False, True):
        assert np.any(bishop_4.votes(X, y, at, pairs)[0] < 0)
        assert np.mean(bishop_4.votes(X, y, X, pairs)[0] == y) > 0.9


def test_cs229_every_step_is_parallel_to_an_axis_and_the_pair_ends_at_h():
    path = cs229_ascent.path()
    assert path[0].tolist() == [2.0, -2.0]
    assert np.all((np.diff(path, axis=0) == 0).sum(axis=1) == 1)
    assert np.linalg.norm(path[-1] - cs229_ascent.MAXIMUM) < 0.2
    at = cs229_ascent.pair()
    assert at["clipped"].tolist() == pytest.approx([cs229_ascent.C, at["H"]])
    assert at["free"][1] > at["H"] and at["free"][0] - at["free"][1] == pytest.approx(at["zeta"])


def test_marsland_errors_below_epsilon_cost_nothing():
    e = marsland_8_10.EPSILON
    assert marsland_8_10.losses(np.array([-e, 0.0, e, e + 1.0]))["epsilon-insensitive"].tolist() == [0, 0, 0, 1]


def test_ten_solvers_reach_the_gap_at_very_different_costs():
    names = [name for name in ten_solvers.TITLES if name != "gradient"]  # which needs more passes than it has
    found = {name: ten_solvers.course(name) for name in names}
    assert {each.status for each in found.values()} == {"OPTIMAL"}
    assert max(each.gap[-1] for each in found.values()) < 1e-3
    assert min(found["simplified"].steps[-1], found["platt"].steps[-1]) > 2 * found["keerthi"].steps[-1]
    fewest = max(found[name].values[-1] for name in ("auto", "osuna", "chunking"))
    assert 9 * fewest < min(found[name].values[-1] for name in ("platt", "keerthi", "keerthi-gain"))
    assert found["adatron"].values[-1] > 100 * found["keerthi"].values[-1]


@pytest.mark.parametrize(
    "name",
    [
        "cs229-margins",
        "cs229-ascent",
        "marsland-8-7",
        "marsland-8-9",
        "bishop-4-1",
        "bishop-4-2",
        "bishop-7-2",
        "plots-kkt",
    ],
)
def test_figures_are_written(name, tmp_path, capsys, monkeypatch):
    for setting, value in {"FINEST_GRID": 40, "COARSEST_GRID": 40}.items():  # a rough drawing is enough here
        monkeypatch.setattr(f"widemargin.plots.evaluation.{setting}", value)
    monkeypatch.setattr(figures, "DOTS_PER_INCH", 40)
    [path] = figures.main([name, "--folder", str(tmp_path)])
    assert path == tmp_path / f"{name}.png" and path.stat().st_size > 5_000
    assert name in capsys.readouterr().out


def test_an_unknown_name_is_refused(capsys):
    with pytest.raises(SystemExit):
        figures.main(["marsland-9"])
    assert "there is no figure marsland-9; choose from marsland-8-7" in capsys.readouterr().err


def test_the_pages_show_every_figure_and_stay_light():
    pages = [(DOCS / name).read_text() for name in ("plots.md", "teaching.md", "guide/solvers.md")]
    written = r"!\[[^\]]{15,}\]\((?:\.\./)?images/([a-z0-9-]+)\.png\)"  # every picture has words in its place
    shown = [name for page in pages for name in re.findall(written, page)]
    assert sorted(shown) == sorted(figures.FIGURES)
    sizes = [(DOCS / "images" / f"{name}.png").stat().st_size for name in shown]
    assert max(sizes) < LARGEST_PICTURE and sum(sizes) < LARGEST_PAGE


def test_code_on_the_page_is_the_code_of_its_pictures():
    """Every call of a plot function on the page stands, word for word, in the module that drew the picture."""
    page = (DOCS / "plots.md").read_text()
    drawn = "".join(Path(gallery.__file__).read_text().split())
    calls = re.findall(r"^(?:model|plot_\w+|ScalingDisplay)[^\n]*$", page, re.MULTILINE)
    assert len(calls) >= 13
    for call in calls:
        wanted = "".join(call.split("  #")[0].split())
        assert wanted in drawn, call
