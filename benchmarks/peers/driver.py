"""Worker processes seen from outside: start, ask, wait with a limit of time and memory, end and start again.

A worker that misses its time limit or grows beyond the memory limit is killed and counts as failed in that fit; the
next command starts a new one. While a fit runs its resident memory is sampled: the memory curve of long fits.

A worker is stopped while it is not asked. The threads of some libraries spin on when there is nothing left to do, and
took most of a core from whoever was measured next: times of all others doubled.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
POLL_SECONDS = 0.2  # between two samples of a worker's memory
MEMORY_SHARE = 0.8  # of the machine's memory: a worker that takes more is ended before the system is
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
TAIL = 300  # characters of a crashed worker's last words that are kept


class Failed(Exception):
    """A worker did not answer. `kind` is "time-out", "memory", "crash" or "error"."""

    def __init__(self, kind: str, message: str, seconds: float = float("nan")) -> None:
        super().__init__(message)
        self.kind, self.seconds = kind, seconds


class WorkerProcess:
    """One library's process, started when it is first needed: `module` run with the library's name and threads."""

    def __init__(
        self,
        library: str,
        threads: int,
        logs: Path,
        variables: dict[str, str] | None = None,
        module: str = "benchmarks.peers.worker",
    ) -> None:
        self.library, self.threads, self.variables, self.module = library, threads, variables or {}, module
        self.warm: set[Any] = set()  # what this process has compiled or loaded already; its caller keeps the book
        self.log = logs / f"{library}-{threads}.log"
        self.process: subprocess.Popen[str] | None = None
        self.curve: list[tuple[float, float]] = []

    def ask(self, command: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Send one command and wait for its answer; raises Failed."""
        process = self._running()
        self._signal("SIGCONT")
        try:
            return self._answer(process, command, timeout)
        finally:
            self._signal("SIGSTOP")

    def _signal(self, name: str) -> None:
        """Send a signal that this system has to the process, if that lives."""
        if self.process is not None and self.process.poll() is None and hasattr(signal, name):
            self.process.send_signal(getattr(signal, name))

    def _answer(self, process: subprocess.Popen[str], command: dict[str, Any], timeout: float) -> dict[str, Any]:
        assert process.stdin is not None and process.stdout is not None
        began = time.perf_counter()
        self.curve = []
        try:
            process.stdin.write(json.dumps(command) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise self._crashed() from None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not selector.select(POLL_SECONDS):
                waited = time.perf_counter() - began
                resident = _resident_mb(process.pid)
                self.curve.append((round(waited, 2), resident))
                if waited > timeout:
                    self.end()
                    raise Failed("time-out", f"no answer within {timeout:.0f} s", waited)
                if resident > memory_limit_mb():
                    self.end()
                    raise Failed("memory", f"more than {memory_limit_mb():.0f} MB", waited)
        line = process.stdout.readline()
        if not line:
            raise self._crashed()
        reply = json.loads(line)
        if not reply.pop("ok"):
            raise Failed("error", reply["error"])
        return reply

    def end(self) -> None:
        """Kill the process, if there is one, and the processes it started (joblib's)."""
        if self.process is not None:
            if hasattr(os, "killpg"):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()
            self.process = None

    def _running(self) -> subprocess.Popen[str]:
        if self.process is None or self.process.poll() is not None:
            self.end()
            self.warm.clear()
            with self.log.open("a") as log:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", self.module, self.library, str(self.threads)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    cwd=ROOT,
                    env={**environment(self.threads), **self.variables},
                    start_new_session=True,  # a group of its own, so that it can be ended as a whole
                )
        assert self.process is not None
        return self.process

    def _crashed(self) -> Failed:
        assert self.process is not None
        code = self.process.wait()
        words = self.log.read_text(errors="replace")[-TAIL:].strip()
        self.end()
        return Failed("crash", f"the process ended with code {code}: {words}")


def environment(threads: int) -> dict[str, str]:
    """Variables of a worker: its threads, and the project on the path."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, **dict.fromkeys(THREAD_VARIABLES, str(threads))}


def run_module(module: str, arguments: list[str], threads: int, timeout: float) -> dict[str, Any]:
    """Run a measurement in a process of its own; its last line of output is JSON. A failure is {"failed": reason}."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.peers.{module}", *arguments],
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=ROOT,
            env=environment(threads),
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer within {timeout:.0f} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"failed": f"ended with code {done.returncode}: {done.stderr.strip()[-TAIL:]}"}
    return json.loads(lines[-1])


def memory_limit_mb() -> float:
    """Megabytes a worker may take."""
    return MEMORY_SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def _resident_mb(pid: int) -> float:
    """Resident megabytes of a process; nan where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return float("nan")
    return round(pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20), 1)
