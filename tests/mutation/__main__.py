"""Change problems and certificate, one place at a time, and see whether a test fails: `make mutants`.

`python -m tests.mutation --minutes 5 problems/dual.py` for some files only. Exit code 1 if a change survives that is
not in `equivalent.py`. Larger changes of the proof, against hostile data: `python -m tests.fuzz.mutants`.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

PACKAGE = Path("widemargin")
# The first run of all tests, which notes what they call, takes minutes: so only those that can fail.
OF_CERTIFICATE = (
    "tests/certificate",
    "tests/linear/test_certificate_proof.py",
    "tests/linear/test_proof_by_hand.py",
    "tests/linear/test_rounding.py",
    "tests/kernel_system/test_bounds_by_hand.py",
    "tests/kernel_system/test_proof.py",
)
TESTS = {
    "problems": (
        *OF_CERTIFICATE,
        "tests/problems",
        "tests/solvers/test_selection.py",
        "tests/solvers/test_evaluate.py",
        "tests/linear/test_solvers.py",
    ),
    "certificate": OF_CERTIFICATE,
}
LEFT_OUT = ("tables.py", "__init__.py")  # how a certificate is printed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="in all")
    parser.add_argument("parts", nargs="*", help="problems, certificate, or files of them such as problems/dual.py")
    parser.add_argument("--tests", nargs="+", help="test files and folders to use")
    options = parser.parse_args()
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    import pytest

    files: list[str] = []
    tests: dict[str, None] = {}  # each once, in order
    for part in options.parts or TESTS:
        path = PACKAGE / part
        tests |= dict.fromkeys(options.tests or TESTS[Path(part).parts[0]])
        found = [path] if path.is_file() else sorted(path.glob("*.py"))
        files += [str(file) for file in found if file.name not in LEFT_OUT]
    arguments = [argument for file in files for argument in ("--mutate", file)]
    settings = ["-p", "tests.mutation.runner", "-p", "no:xdist", "-p", "no:cacheprovider", "-q", "-s"]
    marks = ["-m", "not slow and not needs_compiler and not alone"]
    return pytest.main([*settings, *marks, "--minutes", str(options.minutes), *arguments, *tests])


if __name__ == "__main__":
    sys.exit(main())
