"""Programs that try to pass without being right: by lies of their own, or in the place of our side of the line."""

from __future__ import annotations

TESTS = "assert double(2) == 4\nassert double(5) == 10\n"
RIGHT = "def double(x):\n    return 2 * x\n"
WRONG = "def double(x):\n    return 0\n"

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

# The program finds its line to the judge and speaks on it in our place.
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
FORGED_TESTS = "assert all([double(2) == 4])"
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
