"""Atomic writing: what is there already, left-over drafts, several writers."""

import os
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

from widemargin.io import load, save
from widemargin.storage.atomic import check_writable, replacing
from widemargin.storage.errors import FileError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions, links and pipes of POSIX")


def write(path, content=b"new"):
    with replacing(path) as stream:
        stream.write(content)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    target, link = folder / "target", tmp_path / "link"
    link.symlink_to(target)
    write(link)  # the target does not exist yet
    write(link, b"newer")
    assert link.is_symlink()
    assert target.read_bytes() == b"newer"
    assert [path.name for path in folder.iterdir()] == ["target"]


def test_a_link_to_itself_is_refused(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(FileError, match="cannot be written: Too many levels of symbolic links"):
        write(link)
    assert link.is_symlink()


def test_a_pipe_is_written_to(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write(pipe)
    reader.join(30.0)
    assert read == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_model_through_a_pipe(tmp_path):
    from widemargin import SVC

    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    save(SVC().fit([[0.0], [1.0]], [0, 1]), pipe)
    reader.join(30.0)
    (tmp_path / "copy").write_bytes(read[0])
    assert load(tmp_path / "copy").predict([[0.1]]).tolist() == [0]


def test_a_device_stays_a_device(tmp_path):
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # as /dev/null
        device.write_bytes(b"")
    except (AttributeError, PermissionError):
        pytest.skip("only root may make devices, and not everywhere")
    write(device)
    assert stat.S_ISCHR(device.stat().st_mode)


def test_the_permissions_of_a_file_that_is_replaced_stay(tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    path.chmod(0o600)
    write(path)
    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o600)
    assert os.stat(path).st_uid == os.getuid()


def test_a_new_file_has_the_usual_permissions(tmp_path):
    write(tmp_path / "ours")
    (tmp_path / "theirs").write_bytes(b"")
    assert mode_of(tmp_path / "ours") == mode_of(tmp_path / "theirs")


def test_a_read_only_file_is_refused_before_the_work(tmp_path):
    path = tmp_path / "kept"
    path.write_bytes(b"old")
    path.chmod(0o444)
    for attempt in (check_writable, write):
        with pytest.raises(FileError, match="kept cannot be written: it is read-only"):
            attempt(path)
    assert path.read_bytes() == b"old"


def test_a_failure_leaves_the_old_file_and_no_draft(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError), replacing(path) as stream:
        stream.write(b"half")
        raise RuntimeError
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("model", b"old")]


KILLED = """
import os, signal, sys
from pathlib import Path
from widemargin.storage.atomic import replacing
with replacing(Path(sys.argv[1])) as stream:
    stream.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_drafts_of_killed_writers_are_removed_and_those_in_progress_are_not(tmp_path):
    path = tmp_path / "model"
    assert subprocess.run([sys.executable, "-c", KILLED, path], check=False).returncode == -9
    (left,) = tmp_path.iterdir()
    (tmp_path / ".model.notes.part").write_bytes(b"not ours")
    with replacing(path) as stream:
        stream.write(b"first")
        assert not left.exists()
        write(path, b"second")
    assert path.read_bytes() == b"first"
    assert sorted(one.name for one in tmp_path.iterdir()) == [".model.notes.part", "model"]


WRITER = """
import sys
from pathlib import Path
from widemargin.storage.atomic import replacing
letter = sys.argv[2].encode()
for _ in range(100):
    with replacing(Path(sys.argv[1])) as stream:
        for _ in range(10):
            stream.write(1000 * letter)
            stream.flush()
"""


def test_two_processes_that_save_at_once(tmp_path):
    path = tmp_path / "model"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, letter]) for letter in "ab"]
    contents = set()
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            contents.add(path.read_bytes())
    assert [writer.returncode for writer in writers] == [0, 0]
    assert contents <= {b"a" * 10_000, b"b" * 10_000}
    assert [one.name for one in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[s]", "complex128"])
def test_save_refuses_labels_that_load_would_refuse(tmp_path, kind):
    from widemargin import SVC

    model = SVC().fit([[0.0], [1.0]], [0, 1])
    model.classes_ = np.array([1, 2]).astype(kind)
    with pytest.raises(FileError, match="classes_ of the model holds values of type .* use numbers or strings"):
        save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())
