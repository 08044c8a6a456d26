/* X, N, P and PY: programs, sockets, other processes, the interpreter's own back doors.
 */
#include "python-attempts.h"

#include <stddef.h>

/* A library that says so when it has been loaded. */
#define DLOPEN(path)     "ctypes.CDLL(" path ")\nprint('loaded')"
#define COPY_LIBRARY(to) "import shutil\nshutil.copyfile(LIB, " to ")\n"

const struct attempt exec_attempts[] = {
    { "X27", "execve", "exec", "import os\nos.execv('/bin/true', ['true'])",
            "S(SYS_execve, '/bin/true', 0, 0)" },
    { "X27", "execveat of a descriptor", "exec",
            "import os\nos.execve(os.open('/bin/true', os.O_RDONLY), ['true'], {})",
            "S(SYS_execveat, os.open('/bin/true', os.O_RDONLY), '', 0, 0, 0x1000)" },
    { "X27", "a program in memory", "exec", "import os\nos.memfd_create('x')",
            "S(SYS_memfd_create, 'x', 0)" },
    { "X27", "system()", "exec", "import os\nif os.system('true'): raise PermissionError",
            "if libc.system(b'true'): raise PermissionError" },
    { "X27", "posix_spawn", "exec",
            "import os\nos.posix_spawn('/bin/true', ['true'], {})", NULL },
    { "X27", "fork", "exec", "import os\nos.fork()", "S(SYS_clone, 17, 0, 0, 0, 0)" },
    { "X27", "vfork", "exec", NULL, "S(SYS_vfork)" },
    { "X27", "clone3", "exec", NULL, "S(SYS_clone3, b'\\0' * 88, 88)" },
    { "X27", "clone that shares memory and is no thread", "exec", NULL,
            "S(SYS_clone, 0x100 | 17, 0, 0, 0, 0)" },
    { "X27", "fork_exec without an event", "exec",
            "import _posixsubprocess\n_posixsubprocess.fork_exec",
            "import subprocess\nsubprocess._USE_VFORK = False\n"
            "subprocess._USE_POSIX_SPAWN = False\nsubprocess.run(['/bin/true'])" },
    { "X27", "a pool of processes", "exec",
            "import multiprocessing\n"
            "multiprocessing.get_context('fork').Process(target=print).start()",
            NULL },
    { "X28", "load a library from the workspace", "code", NULL,
            COPY_LIBRARY("'sub/evil.so'") DLOPEN("'./sub/evil.so'") },
    { "X28", "load one from .pyddock/tmp", "code", NULL,
            COPY_LIBRARY("'.pyddock/tmp/evil.so'") DLOPEN("'./.pyddock/tmp/evil.so'") },
    { "X28", "load one from a pinned folder", "code", NULL,
            COPY_LIBRARY("'.kiro/evil.so'") "try:\n    ctypes.CDLL('./.kiro/evil.so')\n  "
                                            "  print('loaded')\n"
                                            "finally:\n    os.remove('.kiro/evil.so')" },
    { "X28", "load one from /dev/shm", "code", NULL,
            COPY_LIBRARY("'/dev/shm/evil.so'") DLOPEN("'/dev/shm/evil.so'") },
    { "X28", "load one through a descriptor", "code", NULL,
            COPY_LIBRARY("'sub/evil.so'") "fd = os.open('sub/evil.so', "
                                          "os.O_RDONLY)\n" DLOPEN(
                                                  "f'/proc/self/fd/{fd}'") },
    { "X28", "import one from the workspace", "code",
            COPY_LIBRARY(
                    "'sub/evil.so'") "import sys\nsys.path.insert(0, 'sub')\nimport evil",
            "import importlib.machinery as m, shutil, sys\n"
            "shutil.copyfile(__import__('_lsprof').__file__, 'sub/_lsprof.so')\n"
            "m.ExtensionFileLoader('other', 'sub/_lsprof.so').create_module(\n"
            "    m.ModuleSpec('_lsprof', None, origin='sub/_lsprof.so'))" },
    { "X28", "map a file of the workspace as code", "code", NULL,
            "open('sub/f', 'w').write('\\xc3')\n"
            "mmap.mmap(os.open('sub/f', os.O_RDONLY), 1, mmap.MAP_PRIVATE, "
            "mmap.PROT_READ | mmap.PROT_EXEC)" },
    { "X28", "the same while it is mapped for writing", "code", NULL,
            "open('sub/f', 'w').write('\\xc3')\nfd = os.open('sub/f', os.O_RDWR)\n"
            "w = mmap.mmap(fd, 1)\n"
            "mmap.mmap(fd, 1, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_EXEC)" },
    { "X29", "memory that is writable and code", "code",
            "import mmap\nmmap.mmap(-1, 4096, prot=7)",
            "S(SYS_mmap, 0, 4096, 7, 0x22, -1, 0)" },
    { "X29", "memory that becomes code", "code", NULL,
            "a = S(SYS_mmap, 0, 4096, 3, 0x22, -1, 0)\nS(SYS_mprotect, a, 4096, 5)" },
    { "X29", "empty memory that becomes code", "code", NULL,
            "a = S(SYS_mmap, 0, 4096, 1, 0x22, -1, 0)\nS(SYS_mprotect, a, 4096, 4)" },
    { "X29", "the same with a key", "code", NULL,
            "a = S(SYS_mmap, 0, 4096, 3, 0x22, -1, 0)\n"
            "S(SYS_pkey_mprotect, a, 4096, 5, -1)" },
    { "X29", "code that becomes writable", "code", NULL,
            "fd = os.open('/bin/true', os.O_RDONLY)\n"
            "a = S(SYS_mmap, 0, 4096, 5, 2, fd, 0)\nS(SYS_mprotect, a, 4096, 7)" },
    { "X29", "shared memory in System V's way", "always", NULL,
            "S(SYS_shmget, 0, 4096, 0o1700)" },
    { "X29", "reading that implies code", "code", NULL, "S(SYS_personality, 0x400000)" },
    { NULL, NULL, NULL, NULL, NULL },
};

/* Several calls: one that works is enough. */
#define ANY(loop, call)                                                                \
    "worked = []\nerrors = []\n" loop "    try:\n        " call                        \
    "\n        worked.append(a)\n    except OSError as e:\n        errors.append(e)\n" \
    "print(worked)\nif not worked:\n"                                                  \
    "    raise ([e for e in errors if e.errno not in (1, 38, 97)] or errors)[0]"

const struct attempt network_attempts[] = {
    { "N31", "a socket of any family and type", "network",
            "import socket\nsocket.socket()",
            ANY("for a in [(f, t) for f in (1, 2, 10, 15, 16, 17, 29, 31, 38, 40, 44) "
                "for "
                "t in (1, 2, 3, 5)]:\n",
                    "S(SYS_socket, a[0], a[1], 0)") },
    { "N32", "a pair of datagram sockets", "network", NULL,
            "S(SYS_socketpair, 1, 2, 0, b'\\0' * 8)" },
    { "N32", "a pair of another family", "network", NULL,
            "S(SYS_socketpair, 2, 1, 0, b'\\0' * 8)" },
    { "N32", "a raw pair", "network", NULL, "S(SYS_socketpair, 1, 3, 0, b'\\0' * 8)" },
    { "N32", "connect an end of a pair to somebody else", "network", NULL,
            "import socket\na, b = socket.socketpair()\n"
            "a.connect('/run/systemd/notify')" },
    { "N32", "bind an end of a pair", "network", NULL,
            "import socket\na, b = socket.socketpair()\na.bind('sub/sock')" },
    { "N32", "send to an address from a pair", "network", NULL,
            "a, b = socket.socketpair()\n"
            "S(SYS_sendto, a.fileno(), 'x', 1, 0, b'\\1\\0/run/systemd/notify\\0', 22)" },
    { "N32", "send a message to an address from a pair", "network", NULL,
            "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            "b.setblocking(False)\n"
            "a.sendmsg([b'x'], [], 0, '/run/systemd/notify')\n"
            "if b.recv(9) == b'x':\n    raise PermissionError('it went to the other "
            "end')" },
    { "N33", "connect to the server on loopback", "network",
            "import socket\nsocket.create_connection(('127.0.0.1', PORT), 5)", NULL },
    { "N33", "connect to an abstract socket", "network", NULL,
            "s = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + ABSTRACT)" },
    { "N33", "accept and listen", "network", NULL,
            "a, b = socket.socketpair()\nS(SYS_listen, a.fileno(), 1)" },
    { NULL, NULL, NULL, NULL, NULL },
};

#define SIGNAL(how, call)                 \
    {                                     \
        "P35", how, "signals", NULL, call \
    }

const struct attempt process_attempts[] = {
    { "P35", "signal the server", "signals", "import os\nos.kill(SERVER, 0)", NULL },
    { "P35", "signal the zygote", "signals", "import os\nos.kill(ZYGOTE, 0)", NULL },
    { "P35", "signal a sibling", "signals", "import os\nos.kill(SIBLING, 0)", NULL },
    { "P35", "signal everybody", "signals", "import os\nos.kill(-1, 0)", NULL },
    { "P35", "signal the group", "signals", "import os\nos.kill(0, 0)", NULL },
    SIGNAL("tkill", "S(SYS_tkill, SIBLING, 0)"),
    SIGNAL("tgkill", "S(SYS_tgkill, SIBLING, SIBLING, 0)"),
    SIGNAL("rt_sigqueueinfo", "S(SYS_rt_sigqueueinfo, SIBLING, 10, b'\\0' * 128)"),
    SIGNAL("pidfd_send_signal", "S(SYS_pidfd_send_signal, os.open(f'/proc/{SIBLING}', "
                                "os.O_RDONLY), 0, 0, 0)"),
    SIGNAL("a signal when a descriptor is ready",
            "import fcntl\nr, w = os.pipe()\nfcntl.fcntl(r, 8, SIBLING)"),
    SIGNAL("the same with F_SETOWN_EX",
            "r, w = os.pipe()\n"
            "S(SYS_fcntl, r, 15, struct.pack('ii', 1, SIBLING))"),
    SIGNAL("the same with an ioctl",
            "a, b = socket.socketpair()\n"
            "S(SYS_ioctl, a.fileno(), 0x8901, struct.pack('i', SIBLING))"),
    { "P36", "limits of the zygote", "signals", NULL,
            "S(SYS_prlimit64, ZYGOTE, 7, b'\\0' * 16, 0)" },
    { "P36", "look at limits of the zygote", "signals", NULL,
            "S(SYS_prlimit64, ZYGOTE, 7, 0, ctypes.create_string_buffer(16))" },
    { "P36", "own limits", "always", "import resource\nresource.setrlimit(4, (1, 1))",
            "S(SYS_prlimit64, 0, 4, b'\\0' * 16, 0)" },
    { "P36", "priority of the zygote", "signals",
            "import os\nos.setpriority(os.PRIO_PROCESS, ZYGOTE, 5)", NULL },
    { "P36", "processors of the zygote", "signals",
            "import os\nos.sched_setaffinity(ZYGOTE, {0})", NULL },
    { "P37", "new namespaces", "always", NULL,
            ANY("for a in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x8000000, "
                "0x4000000, 0x2000000, 0x80):\n",
                    "S(SYS_unshare, a)") },
    { "P37", "mount", "always", NULL, "S(SYS_mount, 'none', 'sub', 'tmpfs', 0, 0)" },
    { "P37", "unmount what hides and protects", "always", NULL,
            "S(SYS_umount2, '.git', 2)" },
    { "P37", "newer calls for mounts", "always", NULL,
            ANY("for a in (428, 429, 430, 431, 432, 433, 442, 467):\n",
                    "S(a, -1, '', 0, 0, 0, 0)") },
    { "P37", "another root", "always", NULL, "S(SYS_chroot, '.')" },
    { "P37", "pivot_root", "always", NULL, "S(SYS_pivot_root, '.', '.')" },
    { "P37", "join the namespaces of the server", "always", NULL,
            "S(SYS_setns, os.open('/proc/self/ns/mnt', os.O_RDONLY), 0)" },
    { "P38", "become dumpable", "always", NULL, "S(SYS_prctl, 4, 1, 0, 0, 0)" },
    { "P38", "choose a tracer", "always", NULL, "S(SYS_prctl, 0x59616d61, -1, 0, 0, 0)" },
    { "P38", "outlive the zygote", "always", NULL, "S(SYS_prctl, 1, 0, 0, 0, 0)" },
    { "P38", "move own memory's borders", "always", NULL,
            "S(SYS_prctl, 35, 8, 0, 0, 0)" },
    { "P38", "another filter that asks somebody", "always", NULL,
            "S(SYS_seccomp, 1, 8, b'\\0' * 16)" },
    { "P38", "a new identity", "always", NULL, "S(SYS_setresuid, 0, 0, 0)" },
    { "P38", "capabilities", "always", NULL,
            "S(SYS_capset, struct.pack('Ii', 0x20080522, 0), b'\\xff' * 24)" },
    { "P39", "push input into a terminal", "always", NULL,
            "S(SYS_ioctl, 0, 0x5412, 'x')" },
    { "P39", "the same with high bits", "always", NULL,
            "S(SYS_ioctl, 0, 0x5412 | 1 << 32, 'x')" },
    { "P39", "paste into the console", "always", NULL, "S(SYS_ioctl, 0, 0x541c, '\\3')" },
    { "P40", "a call of x32", "always", NULL, "S(0x40000000 | 39)" },
    { "P40", "parts of the kernel that nobody here needs", "always", NULL,
            ANY("for a in (SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_add_key, "
                "SYS_request_key, SYS_fanotify_init, SYS_init_module, SYS_kexec_load, "
                "SYS_syslog, SYS_swapon, SYS_acct, SYS_quotactl, SYS_vmsplice, "
                "SYS_mq_open, "
                "SYS_semget, SYS_msgget, 470):\n",
                    "S(a, 0, 0, 0, 0, 0, 0)") },
    { NULL, NULL, NULL, NULL, NULL },
};

const struct attempt python_attempts[] = {
    { "PY50", "an interpreter of its own", "writes",
            "import _xxsubinterpreters as s\n"
            "s.run_string(s.create(), f\"open('{OUT}/new', 'w')\")\n"
            "open(OUT + '/new')",
            NULL },
    { "PY50", "code from bytes", "writes",
            "import marshal\nexec(marshal.loads(marshal.dumps(compile(\n"
            "    f\"open('{OUT}/new', 'w')\", 'x', 'exec'))))",
            NULL },
    { "PY50", "write with io and not with open", "writes",
            "import io\nio.FileIO(OUT + '/new', 'w')", NULL },
    { "PY50", "an opener of one's own", "writes",
            "import os\n"
            "open(OUT + '/new', 'w', opener=lambda p, f: os.open(p, f | os.O_CREAT))",
            NULL },
    { "PY50", "ctypes", "rules", "import ctypes\nctypes.CDLL(None)", NULL },
    { "PY50", "a database outside", "writes",
            "import sqlite3\nsqlite3.connect(OUT + '/new').execute('create table a(b)')",
            NULL },
    { "PY50", "ATTACH a database outside", "writes",
            "import sqlite3\nc = sqlite3.connect(':memory:')\n"
            "c.execute(f\"attach '{OUT}/new' as x\")\nc.execute('create table x.a(b)')",
            NULL },
    { "PY50", "an extension of SQLite", "code",
            "import sqlite3\nc = sqlite3.connect(':memory:')\n"
            "c.enable_load_extension(True)\nc.load_extension('sub/evil.so')",
            COPY_LIBRARY("'sub/evil.so'") "c = "
                                          "__import__('sqlite3').connect(':memory:')\nc."
                                          "enable_load_extension(True)\n"
                                          "c.load_extension('sub/evil')" },
    { "PY50", "a log file outside", "writes",
            "import logging, logging.handlers\n"
            "logging.handlers.RotatingFileHandler(OUT + '/new')",
            "import logging.handlers\nlogging.handlers.RotatingFileHandler(OUT + "
            "'/new')" },
    { "PY50", "a folder for modules that is outside", "writes",
            "import shutil\nshutil.copytree('sub', OUT + '/new')", NULL },
    { "PY50", "an archive with a path that climbs", "writes",
            "import tarfile, io\nb = io.BytesIO()\nt = tarfile.open(fileobj=b, "
            "mode='w')\n"
            "t.addfile(tarfile.TarInfo('../../out/new'))\nt.close()\nb.seek(0)\n"
            "tarfile.open(fileobj=b).extractall('sub')",
            NULL },
    { NULL, NULL, NULL, NULL, NULL },
};
