"""Hostile programs: each would pass if its attack worked. None does, and nothing is left of any."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infogain import sandbox
from infogain.errors import InputError, SandboxError
from infogain.sandbox import Outcome, run_code, run_many
from infogain.sandbox.jail.channel import Channel, ChannelClosed
from tests.processes import adopt_orphans, descendants, started_since, wait_until
from tests.sandbox.attacks import ATTACKS
from tests.sandbox.kills import OURS, dies_with
from tests.sandbox.lies import CALLS, FORGED_TESTS, FORGER, FORGERIES, LIES, RIGHT, TESTS, WRONG

LIMIT = 0.5  # seconds of the processor
AMPLE = 10.0  # seconds, for a program that is meant to get done
ENDLESS = ("a result without end", "a number without end", "more text than can be sent", "an error without end")
QUICK = ("many processes", "10 GB", "endless loop in a call", "crash", "50 MB of text", *ENDLESS)

# Asked of the kernel by another program, so that walls of ours which do not stand fail these tests, and skip none.
NAMESPACES = ["unshare", "--user", "--map-root-user", "--net", "--pid", "--mount", "--fork", "true"]
allowed = bool(shutil.which("unshare")) and subprocess.run(NAMESPACES, capture_output=True).returncode == 0
walled = pytest.mark.skipif(not allowed, reason="this system refuses namespaces")


def run(program: str, tests: str = TESTS, time_limit: float = AMPLE) -> Outcome:
    return run_code(textwrap.dedent(program), tests, time_limit=time_limit, memory_mb=512)


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    before = set(descendants(os.getpid()))
    adopt_orphans()
    yield
    assert wait_until(lambda: not started_since(before), patience=3.0)
    adopt_orphans(False)
    assert not list(folder.iterdir())


# A core of the attacks, in the set-up that the tests run in; tests/sandbox has them all, in three


@walled
@pytest.mark.parametrize("program", LIES.values(), ids=LIES.keys())
def test_a_lie_does_not_pass(program: str) -> None:
    tests = TESTS + "import math\nassert all([math.isclose(double(1), 2)])"
    assert not run(program, tests).ok


@walled
@pytest.mark.parametrize("program", FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_answer_is_only_an_answer(program: str) -> None:
    assert not run_code(FORGER + program, FORGED_TESTS, time_limit=LIMIT).ok


@walled
def test_the_forger_does_reach_the_line() -> None:
    """Else the forgeries above would show nothing: right answers count, whoever gives them."""
    forged = FORGER + f"names([], {CALLS})\nserve({{1: 4}})"
    assert run_code(forged, FORGED_TESTS).ok


@walled
@pytest.mark.parametrize("name", QUICK)
def test_an_attack_fails(name: str) -> None:
    program, status = ATTACKS[name]
    assert run(program, time_limit=LIMIT if status == "timeout" else AMPLE).status == status


@walled
def test_files_outside_cannot_be_read_or_written(tmp_path: Path) -> None:
    secret, made = tmp_path / "secret", tmp_path / "made"
    secret.write_text("4")
    for path in (secret, Path(__file__), Path("/etc/passwd"), Path("/proc/self/environ"), Path("/usr/bin")):
        tries = f"import os\ndef double(x): return 2 * x if os.path.exists({str(path)!r}) else 0"
        assert run(tries).status == "failed", path
    for place in (made, Path("/made"), Path("/usr/lib/made"), Path(os.__file__).parent / "made", Path("/dev/made")):
        tries = f"open({str(place)!r}, 'w')\n{RIGHT}"
        assert run(tries).status == "failed", place
        assert not place.exists()


@walled
def test_a_program_has_an_empty_folder_that_vanishes() -> None:
    name = f"infogain-{os.getpid()}"
    program = f"""
        import os, tempfile
        before = os.listdir()
        with tempfile.NamedTemporaryFile(delete=False) as file: file.write(b"x")
        with open("/tmp/{name}", "w") as file: file.write("x")
        def double(x): return 2 * x if before == [] and os.path.exists("{name}") else 0
    """
    assert run(program).ok
    assert run(program).ok  # a new one each time
    assert not Path("/tmp", name).exists()


@walled
def test_no_socket_reaches_anything() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), timeout=1)\n{RIGHT}"
        outcome = run(program)
    assert outcome.status == "failed"
    assert "Address family not supported" in outcome.stderr_tail


# Outliving: whoever of ours is killed, nothing stays


@walled
@pytest.mark.parametrize("who", OURS)
def test_nothing_outlives_any_process_of_ours(who: str) -> None:
    sources = str(Path(sandbox.__file__).parents[2])
    caller = [sys.executable, "-m", "tests.sandbox.caller", sources, "as it is"]
    assert dies_with(who, caller, Path(__file__).parents[2])


@walled
def test_a_judge_that_is_killed_or_stuck_takes_its_program_along(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sandbox.ready() is None  # asked now, so that the processes seen below are the program's
    before = set(descendants(os.getpid()))
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run, "import time; time.sleep(1000)")
        assert wait_until(lambda: len(started_since(before)) >= 3, AMPLE)
        os.kill(started_since(before)[0], signal.SIGKILL)
        assert running.result().status == "killed"
    assert wait_until(lambda: not started_since(before), patience=3.0)
    monkeypatch.setattr(sandbox, "GRACE", 1 - sandbox.PATIENCE * AMPLE)  # give up before the judge does
    assert run("import time; time.sleep(1000)").status == "timeout"


def test_a_line_without_end_does_not_keep_the_judge_from_its_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(descriptor: int, most: int, read: Callable[[int, int], bytes] = os.read) -> bytes:
        signal.raise_signal(signal.SIGALRM)  # while there is always more to read
        return read(descriptor, most)

    def ring(*_: object) -> None:
        raise TimeoutError

    reads, writes = os.pipe()
    os.write(writes, b"[" * 1000)
    os.close(writes)
    line, before = Channel(reads, reads), signal.signal(signal.SIGALRM, ring)
    monkeypatch.setattr(os, "read", read)
    try:
        with pytest.raises(TimeoutError):
            line.receive()
    finally:
        signal.signal(signal.SIGALRM, before)


# Honest programs


@walled
def test_the_system_is_ready() -> None:
    assert sandbox.ready() is None


@walled
def test_a_right_program_passes_and_a_wrong_one_says_why() -> None:
    assert run(RIGHT) == Outcome(True, "passed", pytest.approx(0, abs=AMPLE), "")  # type: ignore[arg-type]
    wrong = run("def double(x):\n    return x * x\n")
    assert wrong.status == "failed"
    assert "assert double(5) == 10" in wrong.stderr_tail
    raised = run("def double(x):\n    return x.nothing\n")
    assert "return x.nothing" in raised.stderr_tail
    assert "AttributeError" in raised.stderr_tail


@walled
def test_values_arrive_as_they_left() -> None:
    program = """
        from collections import Counter, namedtuple
        from decimal import Decimal
        from fractions import Fraction
        def same(x): return x
        def named(): return namedtuple("P", "a b")(1, 2)
        def counted(): return Counter("aab")
        def exact(): return [Decimal("0.5"), Fraction(1, 3)]
        def walk():
            n = 0
            while True: yield (n := n + 1)
        class Pair:
            def __init__(self, a, b): self.a, self.b = a, b
        def total(pairs): return sum(pair.a + pair.b for pair in pairs)
    """
    tests = """
from fractions import Fraction
from itertools import islice
values = [None, True, 0, -1, 10**5000, 1.5, float("inf"), 2j, "é\\ud800\\n", b"\\0", (1, [2]), {3, "a"}, frozenset([4])]
for value in [*values, {(1, 2): {"k": [None]}}, []]:
    got = same(value)
    assert got == value and type(got) is type(value), value
assert str(same(float("nan"))) == "nan" and str(same(-0.0)) == "-0.0"
assert named() == (1, 2) and counted() == {"a": 2, "b": 1} and exact() == [0.5, Fraction(1, 3)]
assert list(islice(walk(), 3)) == [1, 2, 3]
assert Pair(1, b=2).b == 2 and total([Pair(1, 2), Pair(3, 4)]) == 10
try:
    total(5)
except TypeError as error:
    assert "iterable" in str(error)
else:
    assert False
"""
    outcome = run(program, tests)
    assert outcome.ok, outcome.stderr_tail


@walled
def test_tests_may_import_a_name_that_hides_a_builtin() -> None:
    program = "def sum(a, b): return a * b"
    assert run(program, "assert sum([1, 2]) == 3").ok
    assert run(program, "from program import sum\nassert sum(3, 4) == 12").ok
    assert "plain values" in run("def use(f): return f(1)", "use(lambda x: x)").stderr_tail


@walled
def test_tests_may_print_and_fail_on_their_own() -> None:
    printed = run(RIGHT, TESTS + 'print(\'["passed", ""]\', flush=True)')
    assert printed.ok
    assert '["passed"' in printed.stderr_tail
    assert run(RIGHT, "raise SystemExit(0)").status == "failed"
    assert run(RIGHT, "double(").status == "failed"
    assert run(RIGHT, "while True: pass", LIMIT).status == "timeout"


@walled
def test_without_tests_a_program_passes_by_coming_to_its_end() -> None:
    assert run(RIGHT, "").ok
    assert run(RIGHT + "assert double(2) == 5", "").status == "failed"
    assert run(RIGHT + "raise SystemExit(0)", "").status == "ended"


@walled
def test_many_programs_come_back_in_order() -> None:
    seen: list[Outcome] = []
    jobs: list[str | tuple[str, str]] = [(RIGHT, TESTS), (WRONG, TESTS), RIGHT, "1 / 0"]
    outcomes = run_many(jobs, workers=2, progress=seen.append)
    assert [outcome.ok for outcome in outcomes] == [True, False, True, False]
    assert sorted(map(id, seen)) == sorted(map(id, outcomes))
    assert run_many([]) == []


# Without walls


def test_where_walls_are_refused_nothing_runs_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "ready", lambda: "unshare: Operation not permitted")
    with pytest.raises(SandboxError, match=r"Operation not permitted.*--allow-unsafe"):
        run(RIGHT)
    with pytest.raises(SandboxError):
        run_many([RIGHT], 1)
    for program, status in ((RIGHT, "passed"), (WRONG, "failed")):
        assert run_code(program, TESTS, unsafe=True).status == status
    assert run_code("while True: pass", TESTS, time_limit=LIMIT, unsafe=True).status == "timeout"
    here = "import os\ndef double(x): return 2 * x if os.listdir() == [] and not os.environ else 0"
    child = "import os, time\nif os.fork() == 0: time.sleep(1000)\n" + RIGHT
    for program in (here, child):
        assert run_code(program, TESTS, unsafe=True).ok


def test_without_walls_time_of_children_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "ready", lambda: "unshare: Operation not permitted")
    burn = "import os, time\nif os.fork() == 0:\n {}\n while time.process_time() < 0.8: pass\n os._exit(0)\n"
    left = "os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)\n"  # until it has ended; nobody asks for its time
    orphan = (
        "reads, writes = os.pipe()\n"
        + burn.format("if os.fork(): os._exit(0)")
        + "os.close(writes); os.read(reads, 1)\n"
    )
    for program in (burn.format("") + "os.wait()\n", burn.format("") + left, "import os\n" + orphan):
        assert run_code(program + RIGHT, TESTS, time_limit=LIMIT, unsafe=True).status == "timeout"
        assert run_code(program + RIGHT, TESTS, unsafe=True).ok


def test_a_program_that_could_not_be_started_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "ready", lambda: None)
    monkeypatch.setattr(sandbox, "_run", lambda *_, **__: Outcome(False, "refused", 0.1, "unshare: No space left"))
    with pytest.raises(SandboxError, match=r"could not be started: unshare: No space left.*same command again"):
        run_many([RIGHT])


@walled
def test_the_probe_imports_what_programs_do(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"json", "math", "decimal", "re", "collections", "heapq", "hashlib", "datetime"} <= set(
        sandbox.MODULES.split(", ")
    )
    monkeypatch.setattr(sandbox, "PROBE", "import no_such_module\n" + sandbox.PROBE)
    assert re.search(r"No module named 'no_such_module' \(.*standard library in ", sandbox.ready.__wrapped__() or "")


def test_unsafe_claims_no_more_than_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "ready", lambda: "no")
    with pytest.raises(SandboxError, match=r"with all your rights.*can shake off"):
        run(RIGHT)


def test_a_refusal_says_what_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for said, reason in (("mount: denied", "mount: denied"), ("", "the attempt ended as 'killed'")):
        monkeypatch.setattr(sandbox, "_run", lambda *_, said=said, **__: Outcome(False, "killed", 0.1, said))
        assert sandbox.ready.__wrapped__() == reason
    monkeypatch.setattr(sys, "platform", "darwin")
    assert sandbox.ready.__wrapped__() == "it needs Linux; this is darwin"
    monkeypatch.setattr(sandbox, "ready", sandbox.ready.__wrapped__)
    with pytest.raises(SandboxError, match="Linux"):
        run_code(RIGHT, unsafe=True)


@pytest.mark.parametrize("limits", [{"time_limit": 0}, {"memory_mb": 1}])
def test_limits_have_limits(limits: dict[str, int]) -> None:
    with pytest.raises(InputError, match="must be"):
        run_code(RIGHT, **limits)  # type: ignore[arg-type]


@walled
def test_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[2] / "docs" / "sandbox.md"
    (example,) = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out == "None\nTrue passed\n"


def test_who_speaks_to_a_process_that_has_gone_learns_it_by_reading() -> None:
    """Whether the other side dies before a message or after it, the judge sees the same end."""
    reads, answers = os.pipe()
    gone, writes = os.pipe()
    for end in (answers, gone):
        os.close(end)
    line = Channel(reads, writes)
    line.send(["are you there?"])
    with pytest.raises(ChannelClosed):
        line.receive()
    for end in (reads, writes):
        os.close(end)
