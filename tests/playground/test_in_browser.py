"""The page as a person uses it: mouse, keyboard, sliders, steps, on a screen and on a phone; and what it refuses."""

import json

import matplotlib
import numpy as np
import pytest

from widemargin import SVC
from widemargin.playground.points import arrays_from, estimator_of

PARAMETERS = ("machine", "kernel", "C", "gamma", "degree", "coef0", "epsilon", "nu")


def state_of(page):
    return page.run("toy.state")


def library(state, **more):
    """The library's fit of what a page shows."""
    X, y = arrays_from(state["points"], state["machine"])
    return estimator_of({name: state[name] for name in PARAMETERS}, tol=1e-10, **more).fit(X, y)


def shown(page):
    """The certificate as a person reads it."""
    rows = page.run("[...role('certificate').children].map(row => [...row.children].map(cell => cell.textContent))")
    return {name: value.replace("−", "-") for name, value in rows}


def agrees_with_the_library(page):
    state, model = state_of(page), library(state_of(page))
    numbers = shown(page)
    assert numbers["support vectors"] == f"{len(model.support_)} of {len(state['points'])}"
    assert float(numbers["objective (dual)"]) == pytest.approx(model.certificate_.objective, rel=1e-6)
    exact = page.run("toy.fit.certificate")
    assert exact["objective"] == pytest.approx(model.certificate_.objective, rel=1e-6)
    return model


def place_of(page, x, y):
    """Pixels of a point of the plane, in the window."""
    box = page.run("(box => [box.left, box.top])(toy.plane.svg.getBoundingClientRect())")
    at = page.run(f"[toy.plane.px({x}), toy.plane.py({y})]")
    return box[0] + at[0], box[1] + at[1]


def choose(page, selector, value):
    page.run(f"change(all('{selector}')[0], '{value}')")
    page.settle()


def slide(page, name, position):
    page.run(f"change(all('[data-slider={name}] input[type=range]')[0], {position}, 'input')")
    page.settle()


def press_button(page, selector):
    page.run(f"document.querySelector('{selector}').click()")
    page.settle()


def test_points_placed_dragged_and_deleted(toy):
    page = toy()
    press_button(page, '[data-do="clear"]')
    assert "no points yet" in page.run("toy.problem")
    for k, place in enumerate([(-1, 0.5), (-0.8, -0.5), (0.9, 0.6), (1.1, -0.4)]):
        page.run(f"document.querySelectorAll('[data-class]')[{k // 2}].click()")
        page.click(*place_of(page, *place))
        page.settle()
    points = state_of(page)["points"]
    assert [label for _, _, label in points] == [0, 0, 1, 1]
    assert np.allclose([point[:2] for point in points], [(-1, 0.5), (-0.8, -0.5), (0.9, 0.6), (1.1, -0.4)], atol=0.01)
    agrees_with_the_library(page)
    page.drag(place_of(page, -1, 0.5), place_of(page, -0.5, 0.3), place_of(page, 0.2, 0.1))
    page.settle()
    moved = state_of(page)["points"]
    assert np.allclose(moved[0][:2], [0.2, 0.1], atol=0.02) and moved[1:] == points[1:]
    agrees_with_the_library(page)
    press_button(page, '[data-do="undo"]')
    assert state_of(page)["points"] == points
    press_button(page, '[data-tool="erase"]')
    page.click(*place_of(page, 1.1, -0.4))
    page.settle()
    assert state_of(page)["points"] == points[:3]
    press_button(page, '[data-tool="paint"]')
    page.run("document.querySelectorAll('[data-class]')[5].click()")
    page.drag(*[place_of(page, 0.1 * k, -1) for k in range(-3, 4)])
    page.settle()
    assert {label for _, _, label in state_of(page)["points"]} == {0, 1, 5}


def test_sliders_and_menus_move_the_machine(toy):
    page = toy("x=moons")
    before = page.run("toy.plane.svg.querySelector('.level').getAttribute('d')")
    for name, position in (("C", 1.5), ("gamma", 0.6), ("C", -1.2)):
        slide(page, name, position)
        assert state_of(page)[name] == pytest.approx(10**position, rel=0.01)
        agrees_with_the_library(page)
    assert page.run("toy.plane.svg.querySelector('.level').getAttribute('d')") != before
    for kernel in ("linear", "laplacian", "poly"):
        choose(page, '[data-set="kernel"]', kernel)
        assert float(shown(page)["objective (dual)"]) == pytest.approx(
            library(state_of(page)).certificate_.objective, rel=1e-6
        )
    choose(page, '[data-set="kernel"]', "rbf")
    choose(page, '[data-set="machine"]', "nusvc")
    slide(page, "nu", 0.3)
    agrees_with_the_library(page)


@pytest.mark.parametrize("preset", ["xor", "circles", "classes", "sine", "oneclass", "bishopnu", "spiral", "large"])
def test_examples(toy, preset):
    page = toy(f"x={preset}")
    agrees_with_the_library(page)
    lines = page.run(
        "[...toy.plane.svg.querySelectorAll('.level')].filter(line => line.getAttribute('d').length > 20).length"
    )
    assert lines >= 1
    assert page.run("toy.plane.svg.querySelectorAll('.points path').length") == len(state_of(page)["points"])


@pytest.mark.parametrize(
    "state", ["x=moons", "x=xor&s=platt", "x=sine&s=keerthi", "x=oneclass&s=simplified", "x=bishopnu&s=chunking"]
)
def test_step_to_the_end(toy, state):
    page = toy(state)
    page.run("play('step')")
    page.settle()
    first = shown(page)
    assert page.run("role('why').textContent.length") > 40
    assert page.run('document.querySelectorAll(\'[data-run="a"] [data-role="bars"] rect\').length') > 1
    page.run("play('end')")
    page.wait("toy.players[0].ended && toy.players[0].position === toy.players[0].events.length")
    page.settle()
    model = library(state_of(page))
    last = shown(page)
    assert float(last["objective (dual)"]) == pytest.approx(model.certificate_.objective, rel=1e-6)
    assert last["support vectors"] == f"{len(model.support_)} of {len(state_of(page)['points'])}"
    assert "last step" in page.run("role('why').textContent")
    page.run("play('start'); play('step')")
    page.settle()
    assert shown(page) == first
    press_button(page, '[data-do="optimum"]')
    agrees_with_the_library(page)


def test_the_parabola_shows_the_step_and_its_clipping(toy):
    page = toy("x=moons")
    page.run("for (let k = 0; k < 9; k++) play('step')")
    page.settle()
    found = page.run(
        """toy.players[0].events.map((event, k) => {
          const player = toy.players[0];
          player.goTo(k);
          const { problem: { n, K, lower, upper }, beta, f } = player;
          const [i, j] = [event.first, event.second];
          const eta = K[i * n + i] + K[j * n + j] - 2 * K[i * n + j];
          const made = event.to[1] - event.from[1];
          return { made, i, j, eta, beta: [...beta], f: [...f], lower: [...lower], upper: [...upper] };
        })"""
    )
    clipped = 0
    for event in found:
        i, j, beta = event["i"], event["j"], event["beta"]
        free = -(event["f"][j] - event["f"][i]) / event["eta"]
        low = max(event["lower"][j] - beta[j], beta[i] - event["upper"][i])
        high = min(event["upper"][j] - beta[j], beta[i] - event["lower"][i])
        assert event["made"] == pytest.approx(min(max(free, low), high), abs=1e-12)
        clipped += event["made"] != pytest.approx(free, abs=1e-9)
    assert clipped >= 1
    title = page.run("document.querySelector('[data-role=\"parabola\"] text').textContent")
    assert "objective along" in title


def test_two_solvers_side_by_side(toy):
    page = toy("x=xor&s=platt&o=default")
    page.run("for (let k = 0; k < 12; k++) play('step')")
    page.settle()
    assert page.run("toy.players.map(p => p.position)") == [12, 12]
    captions = page.run("all('figcaption').map(c => c.textContent)")
    assert captions[0].startswith("Platt") and captions[1].startswith("second-order")
    assert page.run("toy.otherPlane.svg.querySelectorAll('.points path').length") == 48
    one, other = page.run("toy.players.map(p => p.record[12].objective)")
    assert other > one


def test_many_classes_are_watched_pair_by_pair(toy):
    page = toy("x=bishopclasses")
    page.run("change(role('pair'), '2')")
    page.settle()
    page.run("play('step')")
    page.settle()
    assert page.run("role('pair').selectedOptions[0].textContent") == "2 and 3"
    assert page.run("toy.plane.svg.querySelectorAll('.points path[opacity]').length") == 15


def test_a_point_is_explained(toy):
    page = toy("x=moons")
    state, model = state_of(page), library(state_of(page))
    for i in (int(model.support_[0]), int(np.setdiff1d(np.arange(100), model.support_)[0])):
        x, y, label = state["points"][i]
        page.mouse("mouseMoved", *place_of(page, x, y))
        page.settle()
        words = page.run("role('inspector').textContent").replace("−", "-")
        assert f"class {label + 1}" in words and "✓ met" in words
        value = model.decision_function([[x, y]])[0]
        assert float(words.split("f = ")[1].split("ξ")[0]) == pytest.approx(value, rel=0.01, abs=2e-3)
    assert "α = 0 asks for" in words


def test_the_keyboard_does_it_all(toy):
    page = toy("x=moons")
    count = len(state_of(page)["points"])
    page.run("toy.plane.svg.focus()")
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "3", "Enter"):
        page.press(key)
    page.settle()
    state = state_of(page)
    assert len(state["points"]) == count + 1 and state["points"][-1][2] == 2
    spoken = "role('spoken').textContent"
    assert page.run(spoken) == f"{count + 1} points"
    page.press("Escape")
    page.press("b")
    page.settle()
    assert f"Point {count + 1}, class 3" in page.run(spoken) and "Alpha" in page.run(spoken)
    page.press("ArrowLeft")
    page.settle()
    assert state_of(page)["points"][-1][0] < state["points"][-1][0]
    page.press("Delete")
    page.settle()
    assert len(state_of(page)["points"]) == count


def test_everything_has_a_name_for_a_screen_reader(toy):
    page = toy("x=classes")
    unnamed = page.run(
        """all('button, select, input:not([hidden]), [role=img], [role=application], [tabindex="0"]')
          .filter(e => e.getClientRects().length > 0)
          .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label')))
          .map(e => e.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []
    assert page.run("document.querySelectorAll('[role=tab][aria-selected=true]').length") == 1
    assert page.run("role('sentence').getAttribute('aria-live')") == "polite"


@pytest.mark.parametrize(
    "state, sentence",
    [
        ("p=1,1,0;2,2,0;3,1,0", "All points are of one class"),
        ("p=", "There are no points yet"),
        ("C=-5", "outside what the page shows"),
        ("C=abc&g=1e999", "is not a number"),
        ("k=<img src=x onerror=alert(1)>", "There is no kernel called"),
        ("x=__proto__", "There is no preset called"),
        ("x=constructor&m=toString", "There is no machine called"),
        ("p=1,1,0;x,2,1;1e99,0,1;2,2,1", "could not be read"),
        ("p=" + ";".join(f"{k % 20},{k // 20},{k % 2}" for k in range(400)), "too many"),
        ("%E0%A4%A=3&=&&&m", "means nothing here"),
        ("p=0,0,0;1,0,0;0,1,0;1,1,1&m=nusvc&n=0.9", "smaller class"),
        ("p=0,0,0;0,0,1;1,1,0;1,1,1&m=nusvc&n=0.5&k=linear", "choose a larger ν"),
        ("p=100000,100000,0;-100000,3,1&k=poly&d=9&g=1000", ""),
        ("w=1,1,1,1&i=99999&v=lift", ""),
        ("x=sine&v=lift", ""),
    ],
)
def test_bad_input_is_a_sentence_and_never_a_blank_page(toy, state, sentence):
    page = toy(state)
    words = page.run("role('sentence').textContent")
    assert sentence in words
    assert page.run("role('sentence').hidden") == (not words)
    assert page.run("document.querySelectorAll('img, iframe').length") == 0
    assert page.run("toy.plane.svg.querySelectorAll('.axes text').length") > 2
    page.run("play('step')")
    page.settle()


def test_identical_points_of_two_classes(toy):
    page = toy("p=1,1,0;1,1,1;1,1,0;1,1,1&k=linear")
    numbers = shown(page)
    assert float(numbers["objective (dual)"]) == pytest.approx(
        SVC(kernel="linear", C=1).fit(np.ones((4, 2)), [0, 1, 0, 1]).certificate_.objective
    )
    page.run("play('end')")
    page.wait("toy.players[0].ended")


@pytest.mark.parametrize("window", ["0,1e-300,0,1e-300", "1000000,1000000.0000001,0,1"])
def test_a_window_too_narrow_to_draw_is_not_used(toy, window):
    page = toy(f"w={window}&p=0,0,0;1,1,1&v=lift")
    assert state_of(page)["window"] is None and page.run("toy.window[1] - toy.window[0]") > 1


def test_the_address_holds_the_state(toy):
    page = toy("x=moons")
    slide(page, "C", 2)
    page.click(*place_of(page, 0.5, 1.2))
    page.settle()
    page.wait("location.hash.includes('p=')")
    again = toy(page.run("location.hash.slice(1)"))
    for name in ("points", *PARAMETERS):
        assert state_of(again)[name] == state_of(page)[name]


@pytest.mark.parametrize("preset", ["moons", "sine", "oneclass", "bishopnu", "classes"])
def test_the_copied_program_draws_the_same_machine(toy, preset, monkeypatch):
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    page = toy(f"x={preset}")
    page.run("navigator.clipboard.writeText = (text) => { globalThis.copied = text; return Promise.resolve(); }")
    press_button(page, '[data-do="python"]')
    names: dict = {}
    monkeypatch.setattr(plt, "show", lambda: None)
    exec(compile(page.run("copied"), "copied", "exec"), names)
    model, ours = names["model"], library(state_of(page))
    assert model.certificate_.holds
    assert model.certificate_.objective == pytest.approx(ours.certificate_.objective, rel=1e-3)
    window = page.run("toy.window")
    assert np.allclose([*names["ax"].get_xlim(), *names["ax"].get_ylim()], window, rtol=1e-3)
    plt.close("all")


def test_the_pictures_to_take_away(toy, tmp_path):
    page = toy("x=circles&t=dark")
    page.run(
        """URL.createObjectURL = (blob) => {
          const read = (b) => (globalThis.taken = String.fromCharCode(...new Uint8Array(b).slice(0, 60000)));
          blob.arrayBuffer().then(read);
          return "blob:none";
        };
        HTMLAnchorElement.prototype.click = function () { globalThis.named = this.download; };"""
    )
    page.run("document.querySelector('[data-do=\"svg\"]').click()")
    page.wait("globalThis.taken")
    svg = page.run("taken")
    assert page.run("named") == "svm.svg" and svg.startswith("<svg xmlns=") and "data:image/png;base64," in svg
    page.run("globalThis.taken = null; document.querySelector('[data-do=\"png\"]').click()")
    page.wait("globalThis.taken")
    assert page.run("named") == "svm.png" and page.run("taken").startswith("\x89PNG")


def open_table(page, text):
    """Open a table as a file, up to the choice of its columns."""
    page.run(
        f"""(() => {{
          const list = new DataTransfer();
          list.items.add(new File([{json.dumps(text)}], "table.csv"));
          role("file").files = list.files;
          role("file").dispatchEvent(new Event("change"));
        }})()"""
    )
    page.wait("document.querySelector('dialog').open")


def test_a_table_is_opened(toy):
    page = toy()
    text = "a;b;kind\n" + "\n".join(f"{k};{k * k};{'<b>x</b>' if k % 2 else 'y'}" for k in range(12))
    open_table(page, text)
    assert page.run("[...document.querySelector('[data-column=label]').options].map(o => o.textContent)") == [
        "none",
        "kind",
    ]
    page.run("all('[data-column=standardise]')[0].checked = false; all('dialog button[value=show]')[0].click()")
    page.settle()
    page.wait("toy.state.points.length === 12")
    assert state_of(page)["points"][3] == [3, 9, 0]
    agrees_with_the_library(page)


def test_a_table_is_not_shown_when_its_dialog_is_left(toy):
    """After another one that was shown; and a program to copy has the same dialog."""
    page = toy()
    open_table(page, "a,b\n1,1\n2,2\n3,3")
    page.run("all('dialog button[value=show]')[0].click()")
    page.wait("toy.state.points.length === 3")
    open_table(page, "a,b\n1,1\n2,2")
    page.run("document.querySelector('dialog').close()")  # as Escape does
    page.settle()
    assert len(state_of(page)["points"]) == 3
    open_table(page, "a,b\n1,1\n2,2")
    page.run("all('dialog button[value=show]')[0].click()")
    page.wait("toy.state.points.length === 2")
    page.settle()
    page.run("Object.defineProperty(navigator, 'clipboard', { value: null })")
    page.run("document.querySelector('[data-do=python]').click()")
    page.wait("document.querySelector('dialog textarea') !== null")
    page.run("document.querySelector('dialog button').click()")
    page.wait("!document.querySelector('dialog').open")
    assert len(state_of(page)["points"]) == 2


def test_what_a_table_lost_is_said(toy):
    page = toy()
    open_table(page, "a,b\n1,1\n2,2e9\n3,x\n4,4")
    page.run("all('[data-column=standardise]')[0].checked = false; all('dialog button[value=show]')[0].click()")
    page.wait("toy.state.points.length === 2")
    page.settle()
    said = page.run("role('sentence').textContent")
    assert "1 rows without two numbers" in said and "1 of the points could not be read" in said


@pytest.mark.parametrize("width, phone", [(390, True), (768, False), (1600, False)])
@pytest.mark.parametrize("view", ["steps", "matrix", "lift"])
def test_nothing_is_wider_than_the_screen(toy, width, phone, view):
    page = toy(f"x=moons&v={view}", width, 844, phone=phone)
    page.run("play('step')")
    page.settle()
    assert page.run("document.documentElement.scrollWidth") <= width
    small = page.run("all('button').filter(b => b.offsetParent).map(b => b.offsetHeight).filter(height => height < 30)")
    assert small == []


def luminance(colour):
    values = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("dark", [False, True])
def test_text_is_legible_in_light_and_dark(toy, dark):
    page = toy("x=moons", dark=dark)
    colours = page.run(
        "['.wm-toy', '.wm-toy label', '.wm-toy dt', '.wm-toy .quiet', '.wm-toy [role=tab][aria-selected=true]']"
        ".map(s => getComputedStyle(document.querySelector(s))).map(c => c.color)"
    )
    papers = page.run(
        "['.wm-toy', '[role=tab][aria-selected=true]'].map(s => getComputedStyle(all(s)[0]).backgroundColor)"
    )
    for colour, paper in zip(colours, [papers[0]] * 4 + [papers[1]]):
        one, other = sorted([luminance(colour), luminance(paper)])
        assert (other + 0.05) / (one + 0.05) >= 4.5
    assert (luminance(papers[0]) < 0.1) == dark


@pytest.mark.alone
def test_twenty_pictures_a_second_of_300_points(toy):
    page = toy("x=large")
    count = page.run(
        """(async () => { const toy = document.querySelector('#wm-toy').toy;
        const range = document.querySelector('[data-slider="gamma"] input[type=range]');
        const [begin, drawn] = [performance.now(), toy.drawn];
        while (performance.now() - begin < 2000) {
          range.value = -0.5 + Math.sin((performance.now() - begin) / 600);
          range.dispatchEvent(new Event("input"));
          await new Promise(requestAnimationFrame);
        }
        return (toy.drawn - drawn) / 2; })()"""
    )
    assert count >= 20
