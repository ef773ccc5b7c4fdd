"""Atomic writing: what is there already, left-over drafts, several writers."""

import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

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


def draft_in(folder):
    (draft,) = folder.glob(".*.part")
    return draft


@pytest.fixture
def as_nobody():
    """A folder that everybody reaches; the rest of the test runs as the user 65534."""
    if os.geteuid() != 0:
        pytest.skip("only root may become somebody else")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)

        def become(user):
            os.setegid(user)
            os.seteuid(user)

        yield Path(folder), become
        os.seteuid(0)
        os.setegid(0)


def new_file(path, user, group, mode):
    path.write_bytes(b"old")
    os.chown(path, user, group)
    path.chmod(mode)


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


def test_the_draft_of_a_secret_file_is_secret(tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with replacing(path) as stream:
        stream.write(b"new")
        assert mode_of(draft_in(tmp_path)) == 0o600


@pytest.mark.parametrize("symbolic", [True, False])
def test_a_draft_that_was_exchanged_is_neither_changed_nor_renamed(tmp_path, symbolic):
    path, victim = tmp_path / "model", tmp_path / "victim"
    path.write_bytes(b"old")
    path.chmod(0o666)
    victim.write_bytes(b"theirs")
    victim.chmod(0o600)
    with pytest.raises(FileError, match="model cannot be written: its draft .* was exchanged"), replacing(path):
        draft = draft_in(tmp_path)
        draft.unlink()
        (draft.symlink_to if symbolic else draft.hardlink_to)(victim)
    assert (mode_of(victim), victim.read_bytes()) == (0o600, b"theirs")
    assert (path.is_symlink(), path.read_bytes()) == (False, b"old")


def test_the_group_stays_where_only_the_owner_cannot(as_nobody):
    folder, become = as_nobody
    ours, theirs = folder / "ours", folder / "theirs"
    new_file(ours, 1000, 65534, 0o660)
    new_file(theirs, 1000, 1000, 0o666)
    become(65534)
    write(ours)
    write(theirs)
    assert (ours.stat().st_gid, mode_of(ours)) == (65534, 0o660)
    assert (theirs.stat().st_gid, mode_of(theirs)) == (65534, 0o606)


def test_the_file_of_another_user_in_a_sticky_folder_is_refused_before_the_work(as_nobody):
    folder, become = as_nobody
    folder.chmod(0o1777)
    new_file(folder / "theirs", 1000, 1000, 0o666)
    become(65534)
    with pytest.raises(FileError, match="theirs cannot be written: it belongs to another user"):
        check_writable(folder / "theirs")
    check_writable(folder / "ours")


def test_a_folder_that_cannot_be_listed(as_nobody):
    folder, become = as_nobody
    folder.chmod(0o733)
    become(65534)
    check_writable(folder / "new")
    write(folder / "new")
    assert (folder / "new").read_bytes() == b"new"


@pytest.mark.parametrize("length", [241, 255])
def test_names_as_long_as_names_can_be(tmp_path, length):
    path = tmp_path / ("x" * length)
    check_writable(path)
    write(path)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_a_name_that_is_too_long_is_refused_before_the_work(tmp_path):
    with pytest.raises(FileError, match="cannot be written: File name too long"):
        check_writable(tmp_path / ("x" * 256))


def test_the_check_leaves_nothing_behind(tmp_path):
    check_writable(tmp_path / "new")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("has_reader", [False, True])
def test_a_pipe_with_the_name_of_a_draft_does_not_stop_a_writer(tmp_path, has_reader):
    path = tmp_path / "model"
    with replacing(path):
        pipe = draft_in(tmp_path)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK) if has_reader else None
    script = "import sys; from pathlib import Path; from widemargin.storage.atomic import replacing\n"
    script += "with replacing(Path(sys.argv[1])) as stream: stream.write(b'new')"
    subprocess.run([sys.executable, "-c", script, path], check=True, timeout=30)
    if reader is not None:
        os.close(reader)
    assert path.read_bytes() == b"new"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


TO_AN_OPEN_FILE = """
import sys
from pathlib import Path
from widemargin.storage.atomic import check_writable, replacing
print("before")
check_writable(sys.argv[1])
with replacing(Path(sys.argv[1])) as stream:
    stream.write(b"written\\n")
print("after")
"""


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no such path there")
@pytest.mark.parametrize(
    ("path", "mode"), [("/dev/stdout", "ab"), ("/dev/stdout", "wb"), ("/dev/fd/1", "ab"), ("link", "ab")]
)
def test_the_file_behind_standard_output_is_written_to_and_not_replaced(tmp_path, path, mode):
    log = tmp_path / "log"
    log.write_bytes(b"earlier\n")
    (tmp_path / "link").symlink_to("/dev/stdout")
    with open(log, mode) as stream:
        arguments = [sys.executable, "-c", TO_AN_OPEN_FILE, path]
        subprocess.run(arguments, stdout=stream, check=True, cwd=tmp_path)
    earlier = b"earlier\n" if mode == "ab" else b""
    assert log.read_bytes() == earlier + b"before\nwritten\nafter\n"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link", "log"]


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
