"""The folder of compiled functions: damaged files are replaced, and what others can have written is not loaded."""

import importlib.util
import os
import pickle
import stat
import sys
import tempfile
import traceback
from pathlib import Path

import pytest

from widemargin._jit import cache_folder, disk_cache

SOURCE = "from widemargin._jit import jit\n\n\n@jit\ndef double(x):\n    return x + x\n"
NAME = "module_with_a_compiled_function"
SOMEBODY = 12345  # a user of this number exists on no machine
needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else"
)
not_windows = pytest.mark.skipif(os.name == "nt", reason="folders are not checked on Windows")


@pytest.fixture
def place():
    """A folder that other users can enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.fixture(autouse=True)
def forget(monkeypatch, place, tmp_path_factory):
    """Each test looks at folders anew, and has a cache directory and temporary files of its own."""
    tmp_path_factory.getbasetemp()  # pytest makes its own folder before another place stands for it
    home = place / "home"
    home.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(home / "temporary"))
    monkeypatch.setattr(cache_folder.config, "CACHE_DIR", "")
    (home / "temporary").mkdir()
    (home / "temporary").chmod(0o1777)
    _clear()
    yield
    _clear()
    sys.modules.pop(NAME, None)


def _clear():
    caches = cache_folder.is_safe, cache_folder.is_usable, cache_folder.say_once, cache_folder._digest
    for remembered in (*caches, disk_cache._lock_file):
        remembered.cache_clear()


@pytest.fixture
def package(place):
    """A folder with one module, as it is after an installation by root."""
    folder = place / "package"
    folder.mkdir()
    (folder / "module.py").write_text(SOURCE)
    return folder


def fresh(package):
    """The compiled function of the module, as a new process has it."""
    _clear()
    spec = importlib.util.spec_from_file_location(NAME, package / "module.py")
    module = sys.modules[NAME] = importlib.util.module_from_spec(spec)  # Numba imports it by name
    spec.loader.exec_module(module)
    return module.double


def use(package):
    """Call the function in a new process, so to speak; return whether it was loaded, and where it is kept."""
    double = fresh(package)
    assert double(21.0) == 42.0
    return sum(double.stats.cache_hits.values()) == 1, double._cache.cache_path


def messages(caplog):
    said = [record.getMessage() for record in caplog.records if record.name == "widemargin"]
    return [sentence for sentence in said if "compiling functions" not in sentence]


def files(folder):
    return [path for path in folder.rglob("*") if path.suffix in cache_folder.CACHED]


# ---- damage

DAMAGE = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "garbage": lambda data: bytes(range(256)) * 20,
    "another pickle": lambda data: pickle.dumps([1, 2]),
}


@pytest.mark.needs_compiler
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("ending", cache_folder.CACHED)
def test_a_damaged_file_is_said_once_and_replaced(package, caplog, ending, damage):
    assert use(package) == (False, str(package / "__pycache__"))
    (damaged,) = (path for path in files(package) if path.suffix == ending)
    damaged.write_bytes(DAMAGE[damage](damaged.read_bytes()))
    assert use(package)[0] is False
    if (ending, damage) != (".nbi", "another pickle"):  # which looks like an index of another version
        (said,) = messages(caplog)
        assert "cannot be read" in said and str(package) in said and "replaced" in said
    assert use(package)[0] is True


@pytest.mark.needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the size of files")
def test_a_full_disk_means_functions_in_memory(package, caplog):
    import resource

    use(package)
    (package / "module.py").write_text(SOURCE.replace("x + x", "2.0 * x"))  # the files are of another source now
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        double = fresh(package)
        assert double(21.0) == 42.0
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert double._cache.cache_path is None and "cannot be written" in double._cache.refusal
    (said,) = messages(caplog)
    assert "cannot be kept" in said
    assert use(package)[0] is False and use(package)[0] is True


@not_windows
@pytest.mark.needs_compiler
def test_where_nothing_can_be_written_functions_are_in_memory(package, monkeypatch):
    """As in a container whose file systems are all read-only: there is no directory for temporary files either."""

    def refuse(**options):
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert cache_folder.folder_of(str(package / "module.py")) is None
    assert use(package) == (False, None)


# ---- whose folder it is


def as_user(user, group, work):
    """The result of work() in a child process that belongs to another user."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(group)
            os.setuid(user)
            answer = work()
        except BaseException:
            answer = traceback.format_exc()
        os.write(writer, pickle.dumps(answer))
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as answer:
        found = pickle.loads(answer.read())
    os.waitpid(child, 0)
    return found


@not_windows
@pytest.mark.parametrize("mode, safe", [(0o755, True), (0o700, True), (0o777, False), (0o1777, False), (0o775, False)])
def test_a_folder_that_others_can_write_is_not_safe(tmp_path, monkeypatch, mode, safe):
    monkeypatch.setattr(cache_folder, "_is_private_group", lambda group: False)
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(mode)
    assert cache_folder.is_safe(folder) is safe


@not_windows
def test_the_group_of_the_users_own_name_is_the_user(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_folder, "_is_private_group", lambda group: group == os.stat(tmp_path).st_gid)
    tmp_path.chmod(0o775)
    (tmp_path / "f.nbi").touch()
    (tmp_path / "f.nbi").chmod(0o664)
    assert cache_folder.is_safe(tmp_path)


@not_windows
def test_a_file_or_a_link_that_others_can_have_put_is_not_safe(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_folder, "_is_private_group", lambda group: False)
    tmp_path.chmod(0o755)
    (tmp_path / "other.txt").touch()
    (tmp_path / "other.txt").chmod(0o666)
    assert cache_folder.is_safe(tmp_path)
    for ending in cache_folder.CACHED:
        _clear()
        planted = tmp_path / f"f{ending}"
        planted.touch()
        planted.chmod(0o666)
        assert not cache_folder.is_safe(tmp_path)
        planted.unlink()
    _clear()
    (tmp_path / "f.nbc").symlink_to(tmp_path / "other.txt")
    assert not cache_folder.is_safe(tmp_path)


@not_windows
def test_a_folder_that_others_can_replace_is_not_safe(tmp_path):
    inner = tmp_path / "open" / "folder"
    inner.mkdir(parents=True)
    for mode, safe in ((0o777, False), (0o1777, True), (0o755, True)):
        _clear()
        inner.parent.chmod(mode)
        assert cache_folder.is_safe(inner) is safe


@not_windows
@pytest.mark.needs_compiler
def test_another_folder_is_used_and_that_is_said_once(package, caplog):
    use(package)
    (package / "__pycache__").chmod(0o1777)
    loaded, folder = use(package)
    assert not loaded and folder.startswith(os.environ["XDG_CACHE_HOME"])
    (said,) = messages(caplog)
    assert str(package / "__pycache__") in said and "chmod" in said
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert use(package) == (True, folder)


@needs_root
@pytest.mark.needs_compiler
def test_functions_planted_by_somebody_else_are_not_loaded(package):
    use(package)
    for path in files(package):
        os.chown(path, SOMEBODY, SOMEBODY)
    loaded, folder = use(package)
    assert not loaded and not folder.startswith(str(package))


@needs_root
@pytest.mark.needs_compiler
def test_other_users_read_what_root_compiled_and_keep_the_rest_for_themselves(package):
    previous = os.umask(0o022)
    use(package)
    os.umask(previous)

    def work():
        double = fresh(package)
        double(21.0), double(21)
        return sum(double.stats.cache_hits.values()), sum(double.stats.cache_misses.values()), double._cache.cache_path

    hits, misses, folder = as_user(SOMEBODY, SOMEBODY, work)
    assert (hits, misses) == (1, 1)  # a number with a point was compiled by root, one without was not
    assert folder.startswith(str(Path(tempfile.gettempdir(), f"widemargin-{SOMEBODY}")))
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert as_user(SOMEBODY, SOMEBODY, work)[:2] == (2, 0)


@needs_root
@pytest.mark.needs_compiler
@pytest.mark.parametrize("home", ["", "/nonexistent", None], ids=["no HOME", "a HOME that is missing", "HOME of root"])
def test_a_user_without_a_name_in_the_group_of_root(package, monkeypatch, home):
    """As on OpenShift, where folders that such a user has to write belong to the group of root."""
    (package / "__pycache__").mkdir(exist_ok=True)
    (package / "__pycache__").chmod(0o775)
    monkeypatch.delenv("XDG_CACHE_HOME")
    if home is None:
        monkeypatch.setenv("HOME", os.path.expanduser("~root"))
    elif home:
        monkeypatch.setenv("HOME", home)
    else:
        monkeypatch.delenv("HOME", raising=False)
    monkeypatch.chdir(package)
    loaded, folder = as_user(SOMEBODY, 0, lambda: use(package))
    assert not loaded and folder.startswith(tempfile.gettempdir())
    assert as_user(SOMEBODY, 0, lambda: use(package)) == (True, folder)
    assert not list(package.glob("~*"))


@needs_root
@pytest.mark.needs_compiler
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o755], ids=oct)  # a folder's owner can rename what is in it
def test_a_folder_that_somebody_else_prepared_is_not_used(package, monkeypatch, mode):
    """With the name of ours, in the directory for temporary files: functions are compiled in memory."""
    prepared = Path(tempfile.gettempdir(), f"widemargin-{SOMEBODY}")
    prepared.mkdir()
    os.chown(prepared, SOMEBODY + 1, SOMEBODY + 1)
    prepared.chmod(mode)
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert as_user(SOMEBODY, SOMEBODY, lambda: use(package)) == (False, None)


@needs_root
@pytest.mark.needs_compiler
def test_with_umask_002_a_users_own_files_are_loaded_again(package, monkeypatch):
    os.chown(package, SOMEBODY, SOMEBODY)
    monkeypatch.setattr(cache_folder, "_is_private_group", lambda group: group == SOMEBODY)

    def work():
        os.umask(0o002)
        return use(package)

    assert as_user(SOMEBODY, SOMEBODY, work) == (False, str(package / "__pycache__"))
    assert {stat.S_IMODE(path.stat().st_mode) for path in files(package)} == {0o664}
    assert as_user(SOMEBODY, SOMEBODY, work)[0] is True


@not_windows
def test_private_groups():
    import grp
    import pwd

    own = pwd.getpwuid(os.getuid())
    is_own = grp.getgrgid(own.pw_gid).gr_name == own.pw_name and os.getgid() == own.pw_gid
    assert cache_folder._is_private_group.__wrapped__(own.pw_gid) is is_own
    assert not cache_folder._is_private_group.__wrapped__(SOMEBODY)
