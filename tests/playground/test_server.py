"""`widemargin toy`: the page for its own browser window, and nothing for anybody else."""

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import numpy as np
import pytest

from widemargin.cli.main import main
from widemargin.playground.server import LARGEST_REQUEST, ToyServer

POINTS = [[0.0, 0.0, 0], [1.0, 1.0, 0], [0.0, 1.0, 1], [1.0, 0.0, 1]]
REQUEST = {"number": 7, "points": POINTS, "parameters": {"C": 10, "gamma": 2.0}, "objective": 2.0, "support": 4}


@pytest.fixture
def server():
    with ToyServer() as made:
        thread = threading.Thread(target=made.serve_forever, args=[0.02])
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, method="GET", path=None, body=None, **headers):
    """Status, headers and body of the answer to a request, made with the right token unless another path is given."""
    path = f"/{server.token}/" if path is None else path.replace("TOKEN", server.token)
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=120)  # may compile
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def test_the_page_is_there_for_its_own_address(server):
    status, headers, body = ask(server)
    assert status == 200 and "<title>SVM toy" in body and '"home": "server"' in body
    assert "connect-src 'self'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in headers
    assert ask(server, Host=f"localhost:{server.server_port}")[0] == 200


@pytest.mark.parametrize(
    "path", ["/", "/TOKENx/", "/wrong/", "/TOKEN", "/TOKEN/verify", "/TOKEN/../TOKEN/", "/%2e/", "/é/"]
)
def test_wrong_tokens_and_places_are_refused(server, path):
    if path == "/é/":
        connection = socket.create_connection(("127.0.0.1", server.server_port), timeout=10)
        with connection:
            connection.sendall(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode())
            assert connection.recv(64).split()[1] == b"404"
        return
    status, _, body = ask(server, path=path)
    assert status == 404
    assert server.token not in body


@pytest.mark.parametrize("method, path", [("GET", None), ("POST", "/TOKEN/verify")])
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": ""},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=str,
)
def test_other_pages_are_refused_even_with_the_token(server, method, path, headers):
    status, _, body = ask(server, method, path, json.dumps(REQUEST), Content_Type="application/json", **headers)
    assert status == 403
    assert "objective" not in body


def test_a_fit_of_the_same_points(server):
    origin = f"http://127.0.0.1:{server.server_port}"
    status, _, body = ask(
        server, "POST", "/TOKEN/verify", json.dumps(REQUEST), Content_Type="application/json", Origin=origin
    )
    answer = json.loads(body)
    assert status == 200 and answer["number"] == 7 and answer["support"] == 4
    assert not answer["agrees"] and "differ" in answer["text"]
    again = {**REQUEST, "objective": answer["objective"]}
    assert json.loads(ask(server, "POST", "/TOKEN/verify", json.dumps(again), Content_Type="application/json")[2])[
        "agrees"
    ]


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"points": "x"}, "points must be a list"),
        ({"points": [[0, 1e300, 0]]}, "finite"),
        ({"points": [["__import__", 0, 0]]}, "cannot fit"),
        ({"points": [[0.0, 0.0, 0]] * 3}, "cannot fit"),
        ({"points": POINTS * 100}, "300 points"),
        ({"parameters": {"C": -1}}, "C"),
        ({"parameters": {"C": "1"}}, "C must be a number"),
        ({"parameters": {"kernel": ["rbf"]}}, "kernel must be one of"),
        ({"parameters": {"machine": "os.system"}}, "machine must be one of"),
        ({"parameters": 3}, "parameters must be a dict"),
        ({"parameters": {"machine": "nusvc", "nu": 1.0}, "points": [*POINTS, [5, 5, 1]]}, "nu"),
    ],
)
def test_what_cannot_be_fitted_is_answered_by_a_sentence(server, change, sentence):
    body = json.dumps({**REQUEST, **change})
    status, _, answer = ask(server, "POST", "/TOKEN/verify", body, Content_Type="application/json")
    assert status == 200
    assert sentence in json.loads(answer)["text"]


@pytest.mark.parametrize(
    "body, headers, status",
    [
        ("{", {"Content_Type": "application/json"}, 400),
        ("[" * 100_000, {"Content_Type": "application/json"}, 400),
        ("{}", {"Content_Type": "text/plain"}, 415),
        ("x" * (LARGEST_REQUEST + 1), {"Content_Type": "application/json"}, 413),
        ("{}", {"Content_Type": "application/json", "Content_Length": "-1"}, 413),
        ("{}", {"Content_Type": "application/json", "Content_Length": "²"}, 413),
        ("[]", {"Content_Type": "application/json"}, 200),
    ],
)
def test_hostile_bodies_are_refused(server, body, headers, status):
    if "²" in headers.values():
        text = f"POST /{server.token}/verify HTTP/1.0\r\nHost: 127.0.0.1:{server.server_port}\r\n"
        text += "Content-Type: application/json\r\nContent-Length: ²\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
            connection.sendall(text.encode("latin-1"))
            assert int(connection.recv(64).split()[1]) == status
        return
    assert ask(server, "POST", "/TOKEN/verify", body, **headers)[0] == status


def test_it_listens_on_this_computer_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert len(server.token) >= 32
    with ToyServer() as other:
        assert other.token != server.token


def test_a_browser_that_has_gone_is_not_complained_about(server, capsys, monkeypatch):
    has_gone, has_ended = threading.Event(), threading.Event()

    def fit(request):
        has_gone.wait(10)
        return {"text": "x" * 10_000_000}  # more than the system takes without a reader

    def shut(request):
        plain(request)
        has_ended.set()

    plain = server.shutdown_request
    monkeypatch.setattr(server, "shutdown_request", shut)
    monkeypatch.setattr("widemargin.playground.server.answer_to", fit)
    text = f"POST /{server.token}/verify HTTP/1.0\r\nHost: 127.0.0.1:{server.server_port}\r\n"
    text += "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
        connection.sendall(text.encode())
    has_gone.set()
    assert has_ended.wait(10)
    assert capsys.readouterr().err == ""


def test_the_browser_verifies_with_the_server(server, browser):
    page = browser.open(server.address + "#x=xor")
    page.settle()
    page.run("document.querySelector('[data-do=\"verify\"]').click()")
    page.wait("document.querySelector('[data-role=\"answer\"]').textContent.includes('agree')", 60)
    assert "certificate            holds" in page.run("document.querySelector('[data-role=\"answer\"]').textContent")
    page.run("document.querySelector('#wm-toy').toy.set({ C: 3 })")  # the answer was about another C
    page.settle()
    assert page.run("document.querySelector('[data-role=\"answer\"]').textContent") == ""
    assert page.errors == []
    assert all(request.startswith(server.address) for request in page.requests)
    page.close()


def test_a_fit_that_takes_long_does_not_stop_the_page_when_it_is_to_be_verified(server, browser):
    points = np.random.default_rng(0).normal(size=(300, 2)).round(3)
    listed = ";".join(f"{x},{y},{k % 2}" for k, (x, y) in enumerate(points))
    page = browser.open(f"{server.address}#k=linear&C=1e5&p={listed}")
    page.wait("document.querySelector('#wm-toy').toy.fit && !document.querySelector('#wm-toy').toy.fit.done")
    click = "document.querySelector('[data-do=\"verify\"]').click()"
    taken = page.run(f"(begin => ({click}, performance.now() - begin))(performance.now())")
    assert taken < 1000  # milliseconds; a whole fit takes many seconds
    assert "Waiting" in page.run("document.querySelector('[data-role=\"answer\"]').textContent")
    page.run("document.querySelector('#wm-toy').toy.set({ C: 0.01 })")
    page.wait("document.querySelector('[data-role=\"answer\"]').textContent.includes('agree')", 60)
    assert page.errors == []
    page.close()


def test_points_of_a_table_that_are_left_out_are_mentioned(browser):
    table = {"name": "far.csv", "text": "a,b,c\n1e300,3,x\n2,2,x\n3,1,y", "x": "a", "y": "b", "label": "c"}
    with ToyServer({"table": {**table, "standardise": False}}) as made:
        thread = threading.Thread(target=made.serve_forever, args=[0.02])
        thread.start()
        page = browser.open(made.address)
        page.settle()
        assert page.run("document.querySelector('#wm-toy').toy.state.points.length") == 2
        assert "1 of the points could not be read" in page.run("document.querySelector('#wm-toy').toy.complaint")
        page.close()
        made.shutdown()
        thread.join()


def test_two_columns_of_a_table(tmp_path, browser):
    table = "name,height,age,town\n" + "\n".join(
        f'"a, {k}",{1.5 + k / 50},{20 + k % 7},{"Rome" if k % 3 else "Oslo"}' for k in range(30)
    )
    values = {
        "table": {"name": "people.csv", "text": table, "x": "age", "y": "height", "label": "town", "standardise": False}
    }
    with ToyServer(values) as made:
        thread = threading.Thread(target=made.serve_forever, args=[0.02])
        thread.start()
        page = browser.open(made.address)
        page.settle()
        points = page.run("document.querySelector('#wm-toy').toy.state.points")
        assert points[:3] == [[20, 1.5, 0], [21, 1.52, 1], [22, 1.54, 1]]
        assert page.errors == []
        page.close()
        made.shutdown()
        thread.join()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_prints_its_address_and_ends_by_a_signal(number):
    call = [sys.executable, "-m", "widemargin", "toy", "--no-browser", "--json"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline() for _ in range(5)]
        address = json.loads("".join(lines))["address"]
        assert address.startswith("http://127.0.0.1:")
        process.send_signal(number)
        assert process.wait(20) == 0
        assert process.stderr.read() == ""


def test_the_page_is_served_while_the_browser_is_opened(monkeypatch):
    """A browser in a terminal returns when its user ends it."""
    found = []

    def opened(address):
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                found.append(answer.status)
        except OSError as error:
            found.append(error)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("webbrowser.open", opened)
    assert main(["toy"]) == 0
    assert found == [200]


def test_what_the_command_refuses(tmp_path, capsys):
    assert main(["toy", "--no-browser", "--port", "70000"]) == 2
    assert main(["toy", "--no-browser", str(tmp_path / "none.csv")]) == 2
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x01")
    assert main(["toy", "--no-browser", str(tmp_path / "binary.csv")]) == 2
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["toy", "--no-browser", "--port", str(taken.getsockname()[1])]) == 2
    said = capsys.readouterr().err
    assert "no port 70000" in said and "cannot be read" in said and "UTF-8" in said and "cannot be used" in said
