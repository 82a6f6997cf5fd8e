"""Single attempts at what the walls refuse: each is the body of a function that is true where it succeeds.

An attempt that is refused with an OSError counts as refused; any other exception is a mistake in the attempt, and the
battery says so.
"""

from __future__ import annotations

import os
import textwrap

from infogain.sandbox.jail.seccomp import MACHINES, denied

from .drive import LISTENS, SECRET

COLUMN = list(MACHINES).index(os.uname().machine)
CLONE, PIDFD_OPEN, LISTMOUNT, CLONE3 = (56, 220)[COLUMN], 434, 458, 435

BEFORE = f"""
import ctypes, fcntl, glob, mmap, os, resource, signal, socket, sys, threading, time
NUMBERS = {denied(COLUMN) | {"clone": CLONE, "clone3": CLONE3, "pidfd_open": PIDFD_OPEN, "listmount": LISTMOUNT}}
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    return libc.syscall(ctypes.c_long(NUMBERS[name]), *words)
def works(name, *arguments): return call(name, *arguments) >= 0
def exits_well(work):
    child = os.fork()
    if child == 0:
        try: work()
        except OSError: os._exit(9)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0
def fill(files):
    for file in files:
        try: file.write(bytes(15 << 20))
        except OSError: return False
    return True
"""
AFTER = """
def double(x):
    try: return 2 * x if attempt() else 0
    except OSError: return 0
"""

KEYS = {
    "finds a key of the caller": f"return works('keyctl', 10, -3, b'user', b'{SECRET}', 0)",
    "requests a key of the caller": f"return works('request_key', b'user', b'{SECRET}', None, -3)",
    "reads the session keyring": "return call('keyctl', 11, -3, ctypes.create_string_buffer(64), 64) >= 4",
    "adds a key to the session keyring": "return works('add_key', b'user', b'planted', b'x', 1, -3)",
    "links a keyring into the session's": "return works('keyctl', 8, -4, -3)",
    "joins another session keyring": "return works('keyctl', 1, None)",
}
MEMORY = {
    "has a file in memory": "return works('memfd_create', b'x', 0)",
    "fills memory by files in memory": "return fill([os.fdopen(os.memfd_create('x'), 'wb') for _ in range(40)])",
    "has secret memory": "return works('memfd_secret', 0)",
    "has System V memory": "return works('shmget', 0, 1 << 20, 0o1600)",
    "fills System V memory": """
        libc.shmat.restype = ctypes.c_void_p
        for _ in range(40):
            place = libc.shmat(libc.shmget(0, 16 << 20, 0o1600), None, 0)
            if place in (None, 2 ** 64 - 1): return False
            ctypes.memset(place, 1, 16 << 20)
            libc.shmdt(ctypes.c_void_p(place))
        return True""",
    "has System V semaphores": "return works('semget', 0, 1, 0o1600)",
    "has a System V queue": "return works('msgget', 0, 0o1600)",
    "has a POSIX queue": "return works('mq_open', b'x', os.O_CREAT | os.O_RDWR, 0o600, None)",
    "maps 2 GB of shared memory": "return mmap.mmap(-1, 2 << 30)",
    "fills its folder": "return fill([open(str(n), 'wb', 0) for n in range(20)])",
    "raises its limit on memory": """
        try: return resource.setrlimit(resource.RLIMIT_AS, (-1, -1)) is None
        except ValueError: return False""",
    "raises its limit on time": """
        try: return resource.setrlimit(resource.RLIMIT_CPU, (-1, -1)) is None
        except ValueError: return False""",
    "starts 40 threads": """
        try:
            for _ in range(40): threading.Thread(target=time.sleep, args=[20], daemon=True).start()
        except RuntimeError: return False
        return True""",
}
KERNEL = {
    "io_uring": "return works('io_uring_setup', 1, ctypes.create_string_buffer(256))",
    "userfaultfd": "return works('userfaultfd', 1)",
    "bpf": "return call('bpf', 0, ctypes.create_string_buffer(128), 128) >= 0 or ctypes.get_errno() not in (1, 13)",
    "perf": """
        attributes = (ctypes.c_uint32 * 32)(1, 128)
        attributes[10] = 0x61  # of this process alone, which anybody may ask for
        return works('perf_event_open', attributes, 0, -1, -1, 0)""",
    "lets itself be traced": "return works('ptrace', 0, 0, 0, 0)",
    "traces process 1": "return works('ptrace', 16, 1, 0, 0)",
    "reads the memory of its child": """
        child, text = os.fork(), ctypes.create_string_buffer(b'four', 8)
        if child == 0: time.sleep(20)
        span = (ctypes.c_uint64 * 2)(ctypes.addressof(text), 4)
        return call('process_vm_readv', child, span, 1, span, 1, 0) == 4""",
    "reads the memory of process 1": """
        text = ctypes.create_string_buffer(b'four', 8)
        span = (ctypes.c_uint64 * 2)(ctypes.addressof(text), 4)
        return call('process_vm_readv', 1, span, 1, span, 1, 0) == 4""",
    "takes a descriptor of another process": "return works('pidfd_getfd', call('pidfd_open', os.getpid(), 0), 1, 0)",
    "takes the descriptors of process 1": """
        first = call('pidfd_open', 1, 0)
        return any(works('pidfd_getfd', first, number, 0) for number in range(64))""",
    "compares processes": "return works('kcmp', os.getpid(), os.getpid(), 0, 0, 0)",
    "asks for its personality": "return works('personality', 0xFFFFFFFF)",
    "filters calls of its own": "return works('seccomp', 2, 0, (ctypes.c_uint32 * 1)(0x7FFF0000))",
    "outlives its parent": "return libc.prctl(1, 0, 0, 0, 0) == 0",
    "adopts orphans": "return libc.prctl(36, 1, 0, 0, 0) == 0",
    "takes new privileges": "return libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(1)) == 0",
    "becomes root": "return os.setresuid(0, 0, 0) is None",
    "becomes root's group": "return os.setgroups([0]) is None",
    "asks what a newer kernel has": """
        request = (ctypes.c_uint64 * 3)(24, 2 ** 64 - 1, 0)
        return works('listmount', request, (ctypes.c_uint64 * 64)(), 64, 0)""",
    "is served before others": "return os.nice(-5) is None or os.nice(0) < 0",
    "is served at once": "return os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)) is None",
    "sets the clock": "return time.clock_settime(time.CLOCK_REALTIME, time.time()) is None",
    "names the machine": "return socket.sethostname('x') is None",
    "runs another program": """
        loader = glob.glob('/lib*/ld-linux*')[0]
        return exits_well(lambda: os.execv(loader, [loader, '--version']))""",
    "runs a program by its descriptor": """
        loader = os.open(glob.glob('/lib*/ld-linux*')[0], os.O_RDONLY)
        return exits_well(lambda: os.execve(loader, ['x', '--version'], {}))""",
}
SPACES = {
    **{
        f"new namespace of {name}": f"return works('unshare', {flag})"
        for name, flag in {"users": 1 << 28, "mounts": 1 << 17, "processes": 1 << 29, "network": 1 << 30}.items()
    },
    "a child in a new namespace": """
        child = call('clone', 1 << 28 | 17, 0, 0, 0, 0)
        if child == 0: os._exit(0)
        return child > 0""",
    "a child in a new namespace, by clone3": """
        child = call('clone3', (ctypes.c_uint64 * 8)(1 << 28, 0, 0, 0, 17), 64)
        if child == 0: os._exit(0)
        return child > 0""",
    "enters a namespace": "return works('setns', call('pidfd_open', os.getpid(), 0), 1 << 26)",
    "mounts": "return works('mount', b'x', b'/tmp', b'tmpfs', 0, None)",
    "unmounts": "return works('umount2', b'/tmp', 2)",
    "turns the root": "return works('pivot_root', b'.', b'.')",
    "changes the root": "os.mkdir('a')\nreturn works('chroot', b'a')",
    "copies a mount": "return works('open_tree', -100, b'/tmp', 1)",
    "opens a file system": "return works('fsopen', b'tmpfs', 0)",
    "makes the root writable": "return works('mount_setattr', -100, b'/', 0, (ctypes.c_uint64 * 4)(0, 1), 32)",
    "names a file by number": """
        handle = (ctypes.c_uint32 * 40)(128)
        return works('name_to_handle_at', -100, b'/tmp', handle, (ctypes.c_int * 1)(), 0)""",
}
NETWORK = {
    **{
        f"socket of family {family}": f"return socket.socket({family}, {kind})"
        for family, kind in {2: 1, 10: 2, 16: 3, 17: 3, 38: 5, 40: 1, 31: 3, 44: 3, 15: 3}.items()
    },
    "pair of sockets that are not local": "return libc.socketpair(30, 1, 0, (ctypes.c_int * 2)()) == 0",
    "reaches a socket by its abstract name": f"return socket.socket(socket.AF_UNIX).connect({LISTENS!r}) is None",
}
FILES = {
    "lists installed packages": """
        places = [f'{place}/*/{name}' for place in ('/usr/lib', '/usr/local/lib', f'{sys.base_prefix}/lib')
                  for name in ('site-packages', 'dist-packages')]
        return any(os.listdir(found) for place in places for found in glob.glob(place))""",
    "sees the machine": "return any(map(os.path.exists, ['/etc/passwd', '/proc/1', '/sys/kernel', '/home', '/run']))",
    "opens a device": "return any(map(os.path.exists, ['/dev/mem', '/dev/kmsg', '/dev/tty', '/dev/shm', '/dev/vda']))",
    "makes a device": "return os.mknod('disk', 0o60600, os.makedev(8, 0)) is None",
    "writes into the library": "return open(os.path.dirname(os.__file__) + '/planted.py', 'w')",
    "changes the library": "return os.chmod(os.__file__, 0o777) is None",
    "writes beside its folder": "return open('/planted', 'w')",
    "goes up and out": "return os.path.exists('/tmp/' + '../' * 40 + 'etc/passwd')",
    "links out": "os.symlink('/../../etc/passwd', 'link')\nreturn open('link')",
    "runs what it wrote": """
        with open('x', 'wb') as file: file.write(open(glob.glob('/lib*/ld-linux*')[0], 'rb').read())
        os.chmod('x', 0o700)
        return mmap.mmap(os.open('x', os.O_RDONLY), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)""",
    "holds a descriptor of ours": """
        names = set()
        for number in range(64):
            try: names.add((number, fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE))
            except OSError: pass
        return len(names) != 5 or {(0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)} - names""",
    "reads its input": "return os.read(0, 1) or os.readv(0, [bytearray(1)])",
    "signals what lives outside": """
        me, found = os.getpid(), 0
        for number in range(3, 40_000):
            try: os.kill(number, 0)
            except ProcessLookupError: continue
            found += number != me
        return found""",
    "kills process 1": "os.kill(1, signal.SIGKILL)\nreturn False  # else nobody is left to say so",
    "stops process 1": "os.kill(1, signal.SIGSTOP)\nreturn False",
}
# What the tests print, which holds the answers, in files that the program writes to as well.
PRINTS = "print('the answer is 4', flush=True)\n"
READS = {
    "reads what was printed": "return b'answer' in os.pread(1, 100, 0)",
    "reads errors": "return b'answer' in os.pread(2, 100, 0)",
    "goes back and reads what was printed": "os.lseek(1, 0, 0)\nreturn b'answer' in os.read(1, 100)",
    "maps what was printed": """
        os.write(1, b' ' * 15)
        return b'answer' in mmap.mmap(1, 15, mmap.MAP_SHARED, mmap.PROT_READ)[:]""",
    "sends what was printed": """
        with open('copy', 'wb+') as file:
            os.sendfile(file.fileno(), 1, 0, 100)
            return b'answer' in file.read()""",
    "copies what was printed": """
        with open('copy', 'wb+') as file:
            os.copy_file_range(1, file.fileno(), 100, 0)
            return b'answer' in os.pread(file.fileno(), 100, 0)""",
    "opens its output anew": """
        places = [place for place in ('/proc/self/fd/1', '/dev/fd/1', '/dev/stdout') if os.path.exists(place)]
        return any(b'answer' in open(place, 'rb').read() for place in places)""",
    "asks to read its output": """
        fcntl.fcntl(1, fcntl.F_SETFL, os.O_RDWR)
        return b'answer' in os.pread(1, 100, 0)""",
}
ATTEMPTS = KEYS | MEMORY | KERNEL | SPACES | NETWORK | FILES


def program(attempt: str) -> str:
    return BEFORE + "def attempt():\n" + textwrap.indent(textwrap.dedent(attempt.strip("\n")), "    ") + AFTER
