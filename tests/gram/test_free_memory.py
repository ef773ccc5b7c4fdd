"""How much memory a fit may take: every limit counts, workers share, and an allocation that fails is survived."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.gram.test_cached import ask, made, matrix
from widemargin.gram import budget, cached, cgroups, free_memory, tiles
from widemargin.kernels import Gaussian

GB = 1 << 30


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine of 64 GB with 8 cores and no groups; `group(path, name=text)` writes the files of a control group."""
    root = tmp_path / "cgroup"
    root.mkdir()
    (tmp_path / "meminfo").write_text(f"MemTotal: {2 * (64 * GB >> 10)} kB\nMemAvailable:  {64 * GB >> 10} kB\n")
    monkeypatch.setattr(cgroups, "CGROUPS", root)
    monkeypatch.setattr(cgroups, "MEMBERSHIP", tmp_path / "membership")
    monkeypatch.setattr(free_memory, "MEMINFO", str(tmp_path / "meminfo"))
    monkeypatch.setattr(free_memory, "_address_space_left", lambda: float("inf"))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(free_memory.os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.setattr(free_memory, "available_cores", lambda: 8)
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    forget()

    def group(path, **files):
        folder = root / path
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name.replace("_", ".", 1)).write_text(f"{text}\n")

    def membership(*lines):
        (tmp_path / "membership").write_text("\n".join(lines))

    yield SimpleNamespace(group=group, membership=membership, monkeypatch=monkeypatch)
    forget()


def forget():
    cgroups._memory_limits.cache_clear()
    cgroups.core_quota.cache_clear()


def test_without_limits_the_memory_of_the_machine_counts(machine):
    assert free_memory.free_memory() == 64 * GB
    machine.membership("0::/user")
    machine.group("user", memory_max="max", memory_current=3 * GB)
    machine.group("memory", memory_limit_in_bytes=9223372036854771712)
    assert free_memory.free_memory() == 64 * GB
    assert budget.cache_budget(None) == int(0.4 * 64 * GB)


def test_a_container_of_version_2(machine):
    machine.membership("0::/")
    machine.group(
        "", memory_max=2 * GB, memory_high="max", memory_current=GB, memory_stat=f"anon 1\ninactive_file {GB // 2}"
    )
    assert free_memory.free_memory() == 2 * GB - GB // 2


def test_the_tightest_of_nested_groups_counts(machine):
    machine.membership("0::/batch/job/step")
    machine.group("batch", memory_max=8 * GB, memory_current=7 * GB)
    machine.group("batch/job", memory_max=4 * GB, memory_current=2 * GB)
    machine.group("batch/job/step", memory_max="max", memory_current=GB)
    machine.group("other", memory_max=1, memory_current=0)
    assert free_memory.free_memory() == GB


def test_memory_high_is_a_limit_too(machine):
    machine.membership("0::/slice")
    machine.group("slice", memory_max=4 * GB, memory_high=3 * GB, memory_current=GB)
    assert free_memory.free_memory() == 2 * GB


def test_a_container_of_version_1_whose_path_is_the_hosts(machine):
    machine.membership("4:memory:/docker/abc", "3:cpu,cpuacct:/docker/abc", "0::/docker/abc")
    stat = f"inactive_file 5\ntotal_inactive_file {GB}"
    files = {"memory_limit_in_bytes": 3 * GB, "memory_usage_in_bytes": 2 * GB, "memory_stat": stat}
    machine.group("memory", **files)
    machine.group("cpu,cpuacct", cpu_cfs_quota_us=200000, cpu_cfs_period_us=100000)
    assert free_memory.free_memory() == 2 * GB
    assert cgroups.core_quota() == 2.0


def test_a_group_that_is_full_leaves_nothing_and_the_fit_goes_on(machine):
    machine.membership("0::/")
    machine.group("", memory_max=GB, memory_current=2 * GB)
    assert free_memory.free_memory() == 0 and budget.cache_budget(None) == 0


@pytest.mark.parametrize("damage", ["", "0::", "nonsense", "1:memory", "4:memory:/\n\n"])
def test_what_cannot_be_read_limits_nothing(machine, damage):
    machine.membership(damage)
    machine.group("memory", memory_limit_in_bytes="", memory_usage_in_bytes="x")
    machine.group("", memory_max=5 * GB)  # and no usage
    assert free_memory.free_memory() == 64 * GB


def test_workers_share_the_memory(machine):
    machine.monkeypatch.setattr(free_memory, "available_cores", lambda: 2)  # OMP_NUM_THREADS=2: one of four workers
    assert free_memory.memory_share() == 0.25
    assert budget.cache_budget(None) == int(0.4 * 0.25 * 64 * GB)
    assert budget.cache_budget(7) == 7 << 20
    machine.membership("0::/")
    machine.group("", cpu_max="200000 100000")  # two cores are all there are
    forget()
    assert free_memory.memory_share() == 1.0


def test_one_thread_may_mean_one_process_alone(machine):
    """Clusters set OMP_NUM_THREADS=1 for every process: on 64 cores that is no reason to use a 64th of the memory."""
    machine.monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    machine.monkeypatch.setattr(free_memory, "available_cores", lambda: 1)
    assert free_memory.memory_share() == 1 / 8
    assert budget.cache_budget(None) == int(0.4 * 64 * GB / 8)


def test_workers_of_pytest_share_the_memory(machine):
    machine.monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "4")
    assert free_memory.memory_share() == 0.25


def test_macos_is_asked_through_sysctl(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(
        free_memory, "_sysctl", lambda name, kind: {"hw.memsize": 16 * GB, "kern.memorystatus_level": 75}[name]
    )
    assert free_memory._available() == 12 * GB


@pytest.mark.parametrize("platform", ["win32", "darwin", "linux"])
def test_a_system_that_does_not_answer_still_gives_a_number(monkeypatch, platform):
    def fail(*_):
        raise OSError

    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(free_memory, "_sysctl", fail)
    monkeypatch.setattr(free_memory, "_windows_available", fail)
    monkeypatch.setattr(free_memory, "MEMINFO", "/nowhere")
    assert free_memory._available() > 0
    monkeypatch.setattr(free_memory.os, "sysconf", fail)
    assert free_memory._available() == free_memory.FALLBACK


def test_the_windows_structure_has_the_size_that_the_system_expects():
    assert free_memory.ctypes.sizeof(free_memory._MemoryStatus) == 64


# ---- memory that ends during a fit


@pytest.fixture
def scarce(monkeypatch):
    """Slabs of four rows; no array is allocated by the cache once `scarce.left` is used up."""
    monkeypatch.setattr(cached, "SLAB_ROWS", 4)
    state = SimpleNamespace(left=10**9)

    def empty(shape, dtype):
        state.left -= 1
        if state.left < 0:
            raise MemoryError
        return np.zeros(shape, dtype)

    monkeypatch.setattr(cached, "np", SimpleNamespace(**{**vars(np), "empty": empty}))
    return state


def test_a_cache_that_cannot_grow_gives_up_half_and_goes_on(scarce, rng):
    K = matrix(37)
    gram = made(K, 37)
    for _ in range(3):
        ask(gram, K, np.arange(16), rng.normal(size=16), np.ones(16, bool))
    assert gram.cache.used == 16
    scarce.left = 0
    ask(gram, K, np.arange(10, 30), rng.normal(size=20), np.ones(20, bool))
    assert gram.cache.capacity == 16
    ask(gram, K, np.arange(10, 30), rng.normal(size=20), np.ones(20, bool))
    assert gram.cache.capacity == gram.cache.used == 8 and len(gram.cache.slabs) == 2
    for _ in range(20):
        index = rng.choice(37, 12, replace=False)
        ask(gram, K, index, rng.normal(size=12), rng.random(12) < 0.7)
        np.testing.assert_allclose(gram.block(index), K[np.ix_(index, index)])


def test_a_block_that_cannot_be_allocated_takes_the_place_of_rows(monkeypatch, rng):
    monkeypatch.setattr(cached, "SLAB_ROWS", 4)
    K = matrix(37)
    gram = made(K, 37)
    ask(gram, K, np.arange(16), rng.normal(size=16), np.ones(16, bool))
    allocate, failures = gram.memory.blocks.array, [MemoryError]

    def array(*args):
        if failures:
            raise failures.pop()
        return allocate(*args)

    monkeypatch.setattr(gram.memory.blocks, "array", array)
    index = np.arange(3, 20)
    np.testing.assert_allclose(gram.block(index), K[np.ix_(index, index)])
    assert gram.cache.used == 8


def test_a_cache_stops_growing_when_others_take_the_memory(monkeypatch, rng):
    monkeypatch.setattr(cached, "SLAB_ROWS", 4)
    free = [10 * GB]
    monkeypatch.setattr(cached, "free_memory", lambda: free[0])
    K = matrix(37)
    gram = made(K, 37)
    gram.cache.least_free = 5 * GB
    ask(gram, K, np.arange(8), rng.normal(size=8), np.ones(8, bool))
    free[0] = 4 * GB
    for _ in range(10):
        index = rng.choice(37, 12, replace=False)
        ask(gram, K, index, rng.normal(size=12), np.ones(12, bool))
    assert gram.cache.used == gram.cache.capacity == 8


def test_tiles_that_cannot_be_kept_are_evaluated_again(monkeypatch, rng):
    monkeypatch.setattr(tiles, "TILE", 8)
    X, V = rng.normal(size=(50, 3)), rng.normal(size=(50, 1))
    kernel = Gaussian(0.5)
    samples = kernel.prepare(X, np.float64)
    whole = tiles.KernelTiles(kernel, samples, np.float64, 10**9, 1)
    expected = whole.product(V)
    again, calls = tiles.KernelTiles(kernel, samples, np.float64, 10**9, 1), [0]

    def empty(shape, dtype=float):
        calls[0] += 1
        if calls[0] == 7:
            raise MemoryError
        return np.zeros(shape, dtype)

    monkeypatch.setattr(tiles, "np", SimpleNamespace(**{**vars(np), "empty": empty}))
    np.testing.assert_allclose(again.product(V), expected, rtol=1e-12)
    assert again.n_kept == 3 and sum(tile is not None for tile in again.kept) == 3
    np.testing.assert_allclose(again.product(V), expected, rtol=1e-12)


LIMITED = """
import resource, warnings
import numpy as np
from widemargin import SVC
rng = np.random.default_rng(0)
X = rng.normal(size=(9000, 5)); y = (rng.normal(size=9000) + X[:, 0] > 0).astype(int)
SVC(n_jobs=1).fit(X[:2500], y[:2500])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (160 << 20), resource.RLIM_INFINITY))
from widemargin.gram.budget import cache_budget
assert cache_budget(None) <= 0.4 * (160 << 20), cache_budget(None)
print(SVC(n_jobs=1, tol=1e-2{size}).fit(X, y).certificate_.holds)
"""


@pytest.mark.slow
@pytest.mark.needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="the limit on the address space is enforced by Linux")
@pytest.mark.parametrize("size", ["", ", cache_size=2000"], ids=["own size", "a size beyond the limit"])
def test_a_fit_keeps_within_a_limited_address_space(size):
    script = LIMITED.format(size=size)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "True\n", done.stderr
