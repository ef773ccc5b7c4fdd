"""The page of the toy on this computer alone, for `widemargin toy`.

A page of another site that is open in the same browser can send requests to 127.0.0.1, and other users of the computer
can too. So the server

    listens on 127.0.0.1 and no other address
    answers below a random path only, which the browser is given when it is opened
    refuses requests whose Host is not its own address (a name that an attacker points to 127.0.0.1), whose Origin is
    another page, or which the browser marks as coming from another site
    answers two requests: GET of the page, POST of points to be fitted, of limited size
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from widemargin.playground.page import policy, write_page
from widemargin.playground.verification import answer_to

HOST = "127.0.0.1"
LARGEST_REQUEST = 200_000  # bytes; 300 points take 15,000
PATIENCE = 30  # seconds for a client to send what it announced


class ToyServer(ThreadingHTTPServer):
    """The server of one page; `address` is where it is.

    Parameters
    ----------
    values : dict
        Points and parameters that the page begins with.
    port : int, default 0
        0 takes any free port.
    """

    daemon_threads = True

    def __init__(self, values: Mapping[str, Any] | None = None, port: int = 0) -> None:
        super().__init__((HOST, port), Handler)
        self.token = secrets.token_urlsafe(24)
        self.page = write_page({**(values or {}), "home": "server"}).encode()
        self.fitting = threading.Lock()  # fits one after the other, however often the button is pressed

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the traceback of an error, unless it is that the browser has gone."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    @property
    def names(self) -> tuple[str, str]:
        """What a browser calls this server."""
        return f"{HOST}:{self.server_port}", f"localhost:{self.server_port}"

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/{self.token}/"


class Handler(BaseHTTPRequestHandler):
    """One request; see the module's header."""

    server: ToyServer
    server_version, sys_version = "widemargin", ""
    timeout = PATIENCE

    def do_GET(self) -> None:
        if self._is_own("/"):
            self._send(200, self.server.page, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        if not self._is_own("/verify"):
            return
        if self.headers.get_content_type() != "application/json":
            self._refuse(415, "JSON is expected.")
            return
        size = self.headers.get("Content-Length", "")
        if not size.isascii() or not size.isdecimal() or len(size) > 9 or int(size) > LARGEST_REQUEST:
            self._refuse(413, f"At most {LARGEST_REQUEST} bytes are read.")
            return
        try:
            request = json.loads(self.rfile.read(int(size)))
        except (ValueError, RecursionError):
            self._refuse(400, "This is not JSON.")
            return
        with self.server.fitting:
            answer = answer_to(request)
        self._send(200, json.dumps(_finite(answer)).encode(), "application/json")

    def _is_own(self, place: str) -> bool:
        """Whether the request comes from our own page and has its token; else it is refused."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        if host not in self.server.names or (origin is not None and origin != f"http://{host}"):
            self._refuse(403, "Only the page that widemargin toy opened may ask here.")
            return False
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            self._refuse(403, "Only the page that widemargin toy opened may ask here.")
            return False
        token, slash, rest = self.path.partition("?")[0].removeprefix("/").partition("/")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()) or slash + rest != place:
            self._refuse(404, "There is nothing here. Use the address that widemargin toy printed.")
            return False
        return True

    def _refuse(self, status: int, sentence: str) -> None:
        self.close_connection = True
        self._send(status, sentence.encode(), "text/plain; charset=utf-8")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": policy("'self'") + "; frame-ancestors 'none'",
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing: the terminal is the user's."""


def _finite(answer: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity and no NaN."""
    return {
        name: None if isinstance(value, float) and not abs(value) < float("inf") else value
        for name, value in answer.items()
    }
