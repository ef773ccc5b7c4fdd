"""A browser for the tests of the toy, and the toy as a page in it."""

import pytest

from tests.playground.browser import CHROMIUM, Browser
from widemargin.playground.page import in_one, write_page

SHORTHAND = """
  globalThis.toy = document.querySelector("#wm-toy").toy;
  globalThis.all = (selector) => [...document.querySelectorAll(selector)];
  globalThis.role = (name) => document.querySelector(`[data-role="${name}"]`);
  globalThis.play = (name) => document.querySelector(`[data-play="${name}"]`).click();
  globalThis.change = (element, value, event = "change") => {
    element.value = value;
    element.dispatchEvent(new Event(event, { bubbles: true }));
  };
"""


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("No Chromium here: the toy is tested in a browser")
    made = Browser()
    yield made
    made.close()


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    """The static page, as `python -m widemargin.playground` writes it."""
    path = tmp_path_factory.mktemp("toy") / "toy.html"
    path.write_text(write_page(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def toy(browser, file):
    """A function that opens the page with a state; at the end nothing was complained about or asked of anybody."""
    pages = []

    def open_toy(state="", width=1280, height=900, **how):
        page = browser.open(f"{file}#{state}", width, height, **how)
        page.settle()
        page.run(SHORTHAND)
        pages.append(page)
        return page

    yield open_toy
    for page in pages:
        errors, requests = page.errors, page.requests
        page.close()
        assert errors == []
        assert set(requests) == {request for request in requests if request.startswith("file:")}


@pytest.fixture(scope="session")
def modules(browser):
    """A page without anything on it, in which `modules` has the exports of every module of the front-end."""
    page = browser.open("about:blank")
    page.run(f"{in_one('page.js')}; globalThis.modules = modules; 0")
    yield page
    page.close()
