"""Run README's first example where less is given than usual: `make surroundings`, some minutes.

The package is built as a wheel and installed in a new environment. Every surrounding begins without compiled functions
on disk, or with those of the surrounding before it, and then nothing may be compiled. It is passed if the certificate
holds, it is printed wherever there is an output to print to, and the error stream holds at most the line that says that
functions are being compiled.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 300.0  # seconds until an example counts as hanging
NOBODY = "65534"  # a user that owns nothing
HOMES = ("HOME", "USER", "LOGNAME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
NOT_OURS = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT")  # of whoever runs this

#: Hides what only some operating systems have. The libraries below ours decide by `sys.platform` and come first.
ANOTHER_SYSTEM = """
import builtins, os, sys
import joblib, numba, sklearn.svm, sklearn.datasets, threadpoolctl
for name in ("fork", "forkpty", "register_at_fork", "sched_getaffinity", "sched_setaffinity", "getuid", "geteuid",
             "sysconf", "process_cpu_count"):
    vars(os).pop(name, None)
for name in ("fcntl", "resource", "pwd", "grp", "psutil"):
    sys.modules[name] = None
def open_elsewhere(file, *rest, _open=open, **options):
    if str(file).startswith("/proc"):
        raise FileNotFoundError(2, "No such file or directory", file)
    return _open(file, *rest, **options)
builtins.open = open_elsewhere
"""
ONE_WARNING_LESS = {"LOKY_MAX_CPU_COUNT": "2"}  # joblib's, about a Linux that cannot tell the affinity of a process

#: Makes everything below / read-only for a process, as containers do; shared memory in /dev stays.
READ_ONLY = """
for place in $(cut -d ' ' -f 2 /proc/self/mounts | grep -v '^/dev'); do
    mount -o remount,bind,ro "$place" 2> /dev/null
done
touch -c "${1%/*}/../pyvenv.cfg" 2> /dev/null && echo "could not be made read-only" && exit 9
exec "$@"
"""
ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
CLOSED = {"standard input": "<&-", "all three streams": "<&- >&- 2>&-"}


def first_example() -> str:
    """README's first block of Python, ending with an exit code that says whether the certificate holds."""
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S)
    assert block is not None
    return block[1] + "raise SystemExit(not model.certificate_.holds)\n"


@dataclass
class Surrounding:
    """How a process is started: what comes before `python`, its options, a preface to the example, its environment."""

    name: str
    before: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    preface: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # commands
    prints: bool = True
    n_processes: int = 1
    is_compiled: bool = False  # by the surrounding before it

    def start(self, python: str = sys.executable) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if name not in (*self.without, *NOT_OURS)}
        command = [*self.before, python, *self.options, "-c", self.preface + first_example()]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(command, env={**kept, **self.environment}, cwd="/", text=True, **pipes)

    def run(self, python: str = sys.executable) -> str:
        """Return "ok", or what happened instead."""
        missing = [name for name in self.needs if shutil.which(name) is None]
        if missing:
            return f"left out: there is no {missing[0]}"
        processes = [self.start(python) for _ in range(self.n_processes)]
        return "; ".join(dict.fromkeys(self.outcome(process) for process in processes))

    def outcome(self, process: subprocess.Popen[str]) -> str:
        try:
            said, complaints = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return f"did not end in {LONGEST:.0f} s"
        lines = complaints.splitlines()
        if not self.is_compiled:
            lines = [line for line in lines if not line.startswith("widemargin: compiling ")]
        if process.returncode or lines:
            return f"exit code {process.returncode}: {(lines or said.splitlines() or [''])[-1]}"
        if self.prints and not said.startswith("certificate            holds"):
            return f"printed {said[:40]!r}"
        return "ok"


def surroundings() -> list[Surrounding]:
    """All of them."""
    is_root = getattr(os, "geteuid", lambda: 1)() == 0
    unshare = ["unshare", "--mount", *([] if is_root else ["--map-root-user"])]
    closed = [
        Surrounding(f"closed: {name}", ["sh", "-c", f'exec "$@" {ends}', "sh"], prints="2" not in ends, needs=("sh",))
        for name, ends in CLOSED.items()
    ]
    other_user = Surrounding(
        "an installation of another user, no home",
        ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"],
        environment={"HOME": "/nowhere"},
        without=HOMES,
        needs=("setpriv",),
    )
    read_only = Surrounding(
        "all file systems read-only", [*unshare, "sh", "-c", READ_ONLY, "sh"], needs=("unshare", "mount")
    )
    return [
        Surrounding("as usual"),
        replace(read_only, name="all file systems read-only, compiled before", is_compiled=True),
        Surrounding("python -W error", options=["-W", "error"]),
        Surrounding("python -OO", options=["-OO"]),
        Surrounding("PYTHONDONTWRITEBYTECODE=1", environment={"PYTHONDONTWRITEBYTECODE": "1"}),
        Surrounding("ASCII only (LC_ALL=C)", options=["-X", "utf8=0"], environment=ASCII),
        Surrounding("HOME and USER unset", without=HOMES),
        *closed,
        Surrounding("two processes at once", n_processes=2),
        Surrounding("another operating system", preface=ANOTHER_SYSTEM, environment=ONE_WARNING_LESS),
        *([other_user] if is_root else []),
        read_only,
    ]  # fmt: skip


def install(folder: Path) -> Path:
    """A new environment in a folder, with a wheel of the package and what it depends on; return its interpreter."""
    python = folder / "venv" / "bin" / "python"
    pip = ["-m", "pip", "--disable-pip-version-check"]
    run = partial(subprocess.run, check=True)
    run([sys.executable, *pip, "wheel", "-qq", "--no-deps", "--wheel-dir", folder, ROOT])
    run([sys.executable, "-m", "venv", folder / "venv"])
    run([python, *pip, "install", "-qq", *folder.glob("*.whl")])
    return python


def forget_compiled(site: Path) -> None:
    """Remove the compiled functions that an installation keeps beside its modules."""
    for path in [*site.rglob("*.nbi"), *site.rglob("*.nbc")]:
        path.unlink()


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # for other users
        python = install(Path(folder))
        outcomes = []
        print("| surrounding | what happened | seconds |\n|---|---|---|")
        for surrounding in surroundings():
            if not surrounding.is_compiled:
                forget_compiled(python.parents[1])
            began = time.perf_counter()
            outcomes.append(surrounding.run(str(python)))
            print(f"| {surrounding.name} | {outcomes[-1]} | {time.perf_counter() - began:.1f} |", flush=True)
    return int(any(outcome != "ok" and not outcome.startswith("left out") for outcome in outcomes))


if __name__ == "__main__":
    raise SystemExit(main())
