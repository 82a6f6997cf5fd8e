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
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infogain import sandbox
from infogain.errors import InputError, SandboxError
from infogain.sandbox import Outcome, run_code, run_many

TESTS = "assert double(2) == 4\nassert double(5) == 10\n"
RIGHT = "def double(x):\n    return 2 * x\n"
WRONG = "def double(x):\n    return 0\n"
LIMIT = 1.0  # seconds
AMPLE = 10.0  # seconds, for a program that is meant to get done
MARGIN = 3.0  # seconds, to start and to clean up on a busy machine

# Asked of the kernel by another program, so that walls of ours which do not stand fail these tests, and skip none.
NAMESPACES = ["unshare", "--user", "--map-root-user", "--net", "--pid", "--mount", "--fork", "true"]
allowed = bool(shutil.which("unshare")) and subprocess.run(NAMESPACES, capture_output=True).returncode == 0
walled = pytest.mark.skipif(not allowed, reason="this system refuses namespaces")


def run(program: str, tests: str = TESTS, time_limit: float = AMPLE) -> Outcome:
    return run_code(textwrap.dedent(program), tests, time_limit=time_limit, memory_mb=512)


def processes(starter: int) -> list[int]:
    """All that were started for programs by this process, children of programs too: they keep its command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_text().split("\0")
        except OSError:
            continue
        if any("jail.main" in word for word in words) and str(starter) in words:
            found.append(int(path.parent.name))
    return found


def gone(starter: int, patience: float) -> bool:
    end = time.monotonic() + patience
    while processes(starter) and time.monotonic() < end:
        time.sleep(0.02)
    return not processes(starter)


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield
    assert gone(os.getpid(), patience=1.0)
    assert not list(folder.iterdir())


# Lies: passing without being right

LIES = {
    "leaves with success": "import sys; sys.exit(0)",
    "leaves at once": "import os; os._exit(0)",
    "raises SystemExit when called": "def double(x): raise SystemExit(0)",
    "leaves when called": "import os\ndef double(x): os._exit(0)",
    "kills itself": "import os\nos.kill(os.getpid(), 9); os.abort()",
    "patches assertions": "import builtins; builtins.AssertionError = None\n" + WRONG,
    "replaces the builtins": "__builtins__ = {}\n" + WRONG,
    "empties the builtins": WRONG + "import builtins; vars(builtins).clear()",
    "defines the tests' helpers": WRONG + "def check(*_): pass\ndef all(*_): return True\nany = abs = len = all",
    "patches the modules that tests use": "import math; math.isclose = lambda *_: True\n" + WRONG,
    "equals everything": """
        class Equal(int):
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            __hash__ = int.__hash__
        def double(x): return Equal(0)
    """,
    "is an object that equals everything": """
        class Equal:
            def __eq__(self, other): return True
        def double(x): return Equal()
    """,
    "prints success": WRONG + "print('passed')\nprint('[\"passed\", \"\"]', flush=True)",
    "writes success to every descriptor": WRONG
    + """
import os
import re
for descriptor in range(3, 64):
    try: os.write(descriptor, b'["passed", ""]\\n')
    except OSError: pass
""",
    "leaves at exit": WRONG + "import atexit, os; atexit.register(os._exit, 0); raise SystemExit",
    "looks for the tests in its frames": """
        import gc, sys
        def double(x):
            frame, texts = sys._getframe(), []
            while frame:
                texts += [str(frame.f_locals), str(frame.f_globals.keys())]
                frame = frame.f_back
            texts += [text for text in gc.get_objects() if isinstance(text, str)]
            return 2 * x if any("assert " + "double" in text for text in texts) else 0
    """,
    "is no Python": "def double(x) return 4",
    "is wrong": WRONG,
    "raises": "def double(x): raise ValueError(x)",
    "says what cannot be read": WRONG
    + """
import os
import re
for descriptor in range(3, 64):
    try: os.write(descriptor, b'[]\\n')
    except OSError: pass
""",
}


@walled
@pytest.mark.parametrize("program", LIES.values(), ids=LIES.keys())
def test_a_lie_does_not_pass(program: str) -> None:
    tests = TESTS + "import math\nassert all([math.isclose(double(1), 2)])"
    assert not run(program, tests).ok


# Forgeries: the program finds its line to the judge and speaks on it in our place

FORGER = """
import fcntl, json, os
def mode(descriptor):
    try: return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
    except OSError: return None
reads = next(n for n in range(3, 64) if mode(n) == os.O_RDONLY)
writes = next(n for n in range(3, 64) if mode(n) == os.O_WRONLY)
def say(message): os.write(writes, json.dumps(message).encode() + b"\\n")
def names(modules, values): say(["value", ["dict", [["modules", ["dict", modules]], ["values", ["dict", values]]]]])
def serve(answers):
    for line in os.fdopen(reads): say(["value", answers[json.loads(line)[0]]])
"""
JUDGE = "next(x for x in __import__('gc').get_objects() if type(x).__name__ == 'Judge').finish('passed')"
CALLS = [["double", ["handle", 1]]]
FORGERIES = {
    "runs code as an exception": f'say(["raise", "eval", {JUDGE!r}, ""])',
    "hands over builtins": f"""
names([], {CALLS} + [["__builtins__", ["dict", [["all", ["handle", 2]]]]]])
serve({{1: 0, 2: True}})""",
    "hides builtins": f"names([], {CALLS} + [['all', ['handle', 2]]])\nserve({{1: 0, 2: True}})",
    "names a module that runs": "names([['double', 'unittest.__main__']], [])\nserve({})",
    "names no module": "names([['double', 3]], [])\nserve({})",
    "gives what has no form": 'say(["value", [["list"], 1]])',
    "gives too little": 'say(["value"])',
    "gives no names": 'say(["value", 3])',
    "raises what nobody knows": f"names([], {CALLS})\nsay(['raise', 'print', 'x', 'y'])",
    "raises too much": 'say(["raise", "UnicodeDecodeError", "x", "y"])',
    "nests without end": "os.write(writes, b'[' * 100_000 + b'\\n')",
    "never ends its line": "while True: os.write(writes, b'[')",
}


@walled
@pytest.mark.parametrize("program", FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_answer_is_only_an_answer(program: str) -> None:
    assert not run_code(FORGER + program, "assert all([double(2) == 4])", time_limit=LIMIT).ok


@walled
def test_the_forger_does_reach_the_line() -> None:
    """Else the forgeries above would show nothing: right answers count, whoever gives them."""
    forged = FORGER + f"names([], {CALLS})\nserve({{1: 4}})"
    assert run_code(forged, "assert all([double(2) == 4])").ok


# Attacks: on the machine, on its files, on its time

ATTACKS = {
    "fork bomb": ("import os\nwhile True:\n try: os.fork()\n except OSError: pass", "timeout"),
    "many processes": (
        """
        import os, time
        def double(x):
            for count in range(40):
                try:
                    if os.fork() == 0: time.sleep(60)
                except OSError: return count
            return 2 * x
        """,
        "failed",
    ),
    "10 GB": ("x = bytearray(10 << 30)\n" + RIGHT, "memory"),
    "10 GB, little by little": ("x = []\nwhile True: x.append(bytearray(1 << 24))", "memory"),
    "endless loop": ("while True: pass", "timeout"),
    "endless loop in a call": ("def double(x):\n while True: pass", "timeout"),
    "endless sleep": ("import time; time.sleep(1000)", "timeout"),
    "endless loop that ignores signals": (
        "import signal\nfor number in {2, 14, 15}: signal.signal(number, signal.SIG_IGN)\nwhile True: pass",
        "timeout",
    ),
    "endless recursion": ("def double(x): return double(x)", "failed"),
    "crash": ("import ctypes; ctypes.string_at(0)", "ended"),
    "50 MB of text": ("print('x' * 50_000_000)\n" + RIGHT, "failed"),
    "50 MB of lines": ("for _ in range(1_000_000): print('x' * 50)\n" + RIGHT, "failed"),
    "50 MB, and the error ignored": (
        "import os\ntry:\n while True: os.write(2, b'x' * 100_000)\nexcept OSError: pass\n" + RIGHT,
        "output",
    ),
    "a result without end": ("def double(x): return 'x' * 300_000_000", "ended"),
    "a result within itself": ("def double(x):\n a = []; a.append(a); return a", "failed"),
    "a file of 1 GB": (
        "with open('big', 'wb') as file:\n for _ in range(1024): file.write(bytes(1 << 20))\n" + RIGHT,
        "failed",
    ),
    "files without number": (
        "for n in range(100_000):\n with open(f'{n}', 'w') as file: file.write('x')\n" + RIGHT,
        "failed",
    ),
    "new namespaces": (
        """
        import ctypes
        def double(x): return 2 * x if ctypes.CDLL(None).unshare(0x10000000) == 0 else 0
        """,
        "failed",
    ),
    "becomes another user": ("import os\nos.setuid(0)\n" + RIGHT, "failed"),
    "leaves a child": (
        "import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  time.sleep(1000)\n" + WRONG,
        "failed",
    ),
    "leaves a thread": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=[1000]).start()\n" + WRONG,
        "failed",
    ),
    "sees other processes": (
        "import os\ndef double(x): return 2 * x if os.path.exists('/proc/1') or os.getpid() != 1 else 0",
        "failed",
    ),
    "reads the environment": ("import os\ndef double(x): return 2 * x if os.environ else 0", "failed"),
    "finds an interpreter or a shell": (
        "import os, sys\n"
        "def double(x): return 2 * x if any(map(os.path.exists, ['/bin/sh', '/usr/bin/env', sys.executable])) else 0",
        "failed",
    ),
}


@walled
@pytest.mark.parametrize(("program", "status"), ATTACKS.values(), ids=ATTACKS.keys())
def test_an_attack_fails_in_time(program: str, status: str) -> None:
    begin = time.monotonic()
    outcome = run(program, time_limit=LIMIT)
    assert not outcome.ok
    assert outcome.status in (status, "timeout"), outcome  # a busy machine may not even get to what fails
    assert time.monotonic() - begin < LIMIT + MARGIN


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
    assert "unreachable" in outcome.stderr_tail


@walled
def test_all_dies_with_the_process_that_asked() -> None:
    endless = "import os\nos.fork()\nwhile True: pass"
    script = f"from infogain.sandbox import run_code; run_code({endless!r}, time_limit=60)"
    with subprocess.Popen([sys.executable, "-c", script]) as parent:
        end = time.monotonic() + 20
        while len(processes(parent.pid)) < 3 and time.monotonic() < end:
            time.sleep(0.02)
        assert len(processes(parent.pid)) >= 3  # judge, program and its child
        parent.send_signal(signal.SIGKILL)
    assert gone(parent.pid, patience=3.0)


@walled
def test_a_judge_that_is_killed_or_stuck_takes_its_program_along(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sandbox.ready() is None  # asked now, so that the processes seen below are the program's
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run, "while True: pass")
        end = time.monotonic() + AMPLE
        while len(processes(os.getpid())) < 2 and time.monotonic() < end:
            time.sleep(0.02)
        os.kill(min(processes(os.getpid())), signal.SIGKILL)
        assert running.result().status == "killed"
    assert gone(os.getpid(), patience=3.0)
    monkeypatch.setattr(sandbox, "GRACE", LIMIT - AMPLE)  # give up before the judge does
    assert run("while True: pass").status == "timeout"


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
