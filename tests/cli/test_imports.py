"""A call of the command line imports what it uses: each of the modules below takes a tenth of a second and more.

Nor does it search what it imported for garbage, which takes half a second: some 200,000 objects, all of which stay.
"""

import gc
import subprocess
import sys

from widemargin.cli.command import LazyGroup

NEVER = (
    "matplotlib", "jinja2", "distributed", "sklearn.pipeline", "sklearn.preprocessing", "sklearn.model_selection",
    "sklearn.metrics", "sklearn.linear_model", "sklearn.svm", "sklearn.calibration", "widemargin.io.onnx_export",
    "widemargin.io.sklearn_models", "widemargin.plots", "widemargin.report.page",
)  # fmt: skip
MAIN = """
import sys
from widemargin.cli.main import main
code = main(sys.argv[2:])
print(code, *sorted(set(sys.argv[1].split(",")) & set(sys.modules)), file=sys.stderr)
"""


def imported(names, *arguments, folder):
    """Exit code of a call, and which of the modules it imported."""
    call = [sys.executable, "-c", MAIN, ",".join(names), *arguments]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=True)
    code, *found = done.stderr.splitlines()[-1].split()
    return int(code), found


def test_training_predicting_verifying_and_scaling(tmp_path):
    lines = [f"{1 if k % 2 else -1} 1:{k} 2:{k % 2}" for k in range(20)]
    (tmp_path / "small").write_text("\n".join(lines) + "\n")
    assert imported(NEVER, "train", "small", folder=tmp_path) == (0, [])
    assert imported(NEVER, "predict", "small", "small.model", "answers", folder=tmp_path) == (0, [])
    assert imported(NEVER, "verify", "small.model", "small", folder=tmp_path) == (0, [])
    assert imported(("sklearn", *NEVER), "scale", "small", folder=tmp_path) == (0, [])


def test_imports_without_garbage_collection(tmp_path, monkeypatch):
    (tmp_path / "command_that_looks.py").write_text("import gc\ncommand = gc.isenabled()\n")
    monkeypatch.syspath_prepend(tmp_path)
    group = LazyGroup(modules={"look": ("command_that_looks", "")})
    assert group.get_command(None, "look") is False
    assert gc.isenabled()


def test_no_garbage_collection_at_the_end_of_the_process():
    script = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 100_000))\n"
        "from widemargin.cli.main import main; sys.argv[1:] = ['info']; print(main() or gc.get_freeze_count())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-2:] == ["0", "True"]
