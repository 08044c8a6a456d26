/* W and R: files. */
#include "python-attempts.h"

#include <stddef.h>

#define WRITE(path, flags) "S(SYS_openat, -100, " path ", os.O_WRONLY | " flags ", 0o644)"
#define APPEND(path)       "open(" path ", 'a').write('x')"

const struct attempt write_attempts[] = {
    { "W1", "open a file outside for writing", "writes", APPEND("OUT + '/f.txt'"),
            WRITE("OUT + '/f.txt'", "0") },
    { "W1", "create a file outside", "writes", APPEND("OUT + '/new'"),
            WRITE("OUT + '/new'", "os.O_CREAT") },
    { "W1", "create a file in the home", "writes", APPEND("HOME + '/.bashrc'"),
            WRITE("HOME + '/.bashrc'", "os.O_CREAT") },
    { "W1", "a file without a name outside", "writes",
            "import os\nos.open(OUT, os.O_TMPFILE | os.O_RDWR)",
            "S(SYS_openat, -100, OUT, os.O_TMPFILE | os.O_RDWR, 0o600)" },
    { "W1", "empty a file outside while reading it", "writes",
            "import os\nos.open(OUT + '/f.txt', os.O_RDONLY | os.O_TRUNC)",
            "S(SYS_openat, -100, OUT + '/f.txt', os.O_RDONLY | os.O_TRUNC, 0)" },
    { "W1", "the same without any access mode", "writes", NULL,
            "S(SYS_openat, -100, OUT + '/f.txt', 3 | os.O_TRUNC, 0)" },
    { "W2", "truncate a file outside", "writes",
            "import os\nos.truncate(OUT + '/f.txt', 0)",
            "S(SYS_truncate, OUT + '/f.txt', 0)" },
    { "W2", "truncate a protected file", "protected",
            "import os\nos.truncate(WS + '/.git/config', 0)",
            "S(SYS_truncate, WS + '/.git/config', 0)" },
    { "W3", "move a file out", "writes",
            "import os\nopen('sub/f', 'w').close()\nos.rename('sub/f', OUT + '/new')",
            "open('sub/f', 'w').close()\n"
            "S(SYS_renameat2, -100, 'sub/f', -100, OUT + '/new', 0)" },
    { "W3", "move a file in", "writes", "import os\nos.rename(OUT + '/f.txt', 'sub/got')",
            "S(SYS_renameat2, -100, OUT + '/f.txt', -100, 'sub/got', 0)" },
    { "W3", "exchange a file with one outside", "writes", NULL,
            "open('sub/f', 'w').close()\n"
            "S(SYS_renameat2, -100, 'sub/f', -100, OUT + '/f.txt', 2)" },
    { "W3", "move a file over a protected one", "protected",
            "import os\nopen('sub/f', 'w').close()\nos.replace('sub/f', '.git/config')",
            "open('sub/f', 'w').close()\n"
            "S(SYS_renameat2, -100, 'sub/f', -100, '.git/config', 0)" },
    { "W3", "exchange a folder with a protected one", "protected", NULL,
            "os.mkdir('sub/d')\nS(SYS_renameat2, -100, 'sub/d', -100, '.git', 2)" },
    { "W4", "link a file out", "writes",
            "import os\nopen('sub/f', 'w').close()\nos.link('sub/f', OUT + '/new')",
            "open('sub/f', 'w').close()\n"
            "S(SYS_linkat, -100, 'sub/f', -100, OUT + '/new', 0)" },
    { "W4", "link a protected file to a place that is not", "protected",
            "import os\nos.link('.git/config', 'sub/mine')\n" APPEND("'sub/mine'"),
            "S(SYS_linkat, -100, '.git/config', -100, 'sub/mine', 0)" },
    { "W4", "link a file without a name into .git", "protected", NULL,
            "fd = S(SYS_openat, -100, 'sub', os.O_TMPFILE | os.O_RDWR, 0o644)\n"
            "S(SYS_linkat, -100, f'/proc/self/fd/{fd}', -100, '.git/commondir', 0x400)" },
    { "W5", "write through a link to outside", "writes", APPEND("'link/new'"),
            WRITE("'link/new'", "os.O_CREAT") },
    { "W5", "write through an own link to .git", "protected",
            "import os\nos.symlink('../.git', 'sub/l')\n" APPEND("'sub/l/config'"),
            "os.symlink('../.git', 'sub/l')\n" WRITE("'sub/l/config'", "0") },
    { "W5", "write through a chain of links", "writes",
            "import os\nos.symlink(OUT + '/new', 'sub/a')\nos.symlink('a', 'sub/b')\n"
            "open('sub/b', 'w')",
            "os.symlink(OUT + '/new', 'sub/a')\nos.symlink('a', 'sub/b')\n" WRITE(
                    "'sub/b'", "os.O_CREAT") },
    { "W5", "write through /proc/self/root", "writes",
            APPEND("'/proc/self/root' + OUT + '/f.txt'"),
            WRITE("'/proc/self/root' + OUT + '/f.txt'", "0") },
    { "W5", "write through /proc/self/cwd", "protected",
            APPEND("'/proc/self/cwd/.git/config'"),
            WRITE("'/proc/self/cwd/.git/config'", "0") },
    { "W5", "open again for writing through /proc/self/fd", "protected",
            "import os\nfd = os.open('.git/config', os.O_RDONLY)\n" APPEND(
                    "f'/proc/self/fd/{fd}'"),
            "fd = os.open('.git/config', os.O_RDONLY)\n" WRITE(
                    "f'/proc/self/fd/{fd}'", "0") },
    { "W5", "the same through /dev/fd", "protected",
            "import os\nfd = os.open('.git/config', os.O_RDONLY)\n" APPEND(
                    "f'/dev/fd/{fd}'"),
            "fd = os.open('.git/config', os.O_RDONLY)\n" WRITE("f'/dev/fd/{fd}'", "0") },
    { "W6", "write relative to a folder outside", "writes",
            "import os\nd = os.open(OUT, os.O_RDONLY)\n"
            "os.open('new', os.O_WRONLY | os.O_CREAT, dir_fd=d)",
            "d = os.open(OUT, os.O_RDONLY)\n"
            "S(SYS_openat, d, 'new', os.O_WRONLY | os.O_CREAT, 0o644)" },
    { "W6", "climb out of a folder inside", "writes",
            "import os\nd = os.open('sub', os.O_RDONLY)\n"
            "os.open('../../out/new', os.O_WRONLY | os.O_CREAT, dir_fd=d)",
            "d = os.open('sub', os.O_RDONLY)\n"
            "S(SYS_openat, d, '../../out/new', os.O_WRONLY | os.O_CREAT, 0o644)" },
    { "W6", "go outside and write there", "writes",
            "import os\nos.chdir(OUT)\n" APPEND("'new'"),
            "S(SYS_fchdir, os.open(OUT, os.O_RDONLY))\n" WRITE("'new'", "os.O_CREAT") },
    { "W7", "move .git away", "protected", "import os\nos.rename('.git', 'sub/old')",
            "S(SYS_renameat2, -100, '.git', -100, 'sub/old', 0)" },
    { "W7", "move .pyddock away", "protected",
            "import os\nos.rename('.pyddock', 'sub/old')",
            "S(SYS_renameat2, -100, '.pyddock', -100, 'sub/old', 0)" },
    { "W7", "move what is above protected settings", "protected",
            "import os\nos.rename('.kiro', 'sub/old')",
            "S(SYS_renameat2, -100, '.kiro', -100, 'sub/old', 0)" },
    { "W7", "move what is above a nested .git", "+protected",
            "import os\nos.rename('nested', 'sub/old')",
            "S(SYS_renameat2, -100, 'nested', -100, 'sub/old', 0)" },
    { "W7", "move the workspace away", "writes", "import os\nos.rename(WS, TOP + '/old')",
            "S(SYS_renameat2, -100, WS, -100, TOP + '/old', 0)" },
    { "W7", "remove a protected file", "protected", "import os\nos.remove('.git/config')",
            "S(SYS_unlinkat, -100, '.git/config', 0)" },
    { "W8", "create in .git", "protected", APPEND("'.git/commondir'"),
            WRITE("'.git/commondir'", "os.O_CREAT") },
    { "W8", "change the policy", "protected", APPEND("'.pyddock/pyddock.override.toml'"),
            WRITE("'.pyddock/pyddock.override.toml'", "0") },
    { "W8", "make a policy", "protected", APPEND("'.pyddock/pyddock.toml'"),
            WRITE("'.pyddock/pyddock.toml'", "os.O_CREAT") },
    { "W8", "change settings of an agent", "protected",
            APPEND("'.kiro/settings/mcp.json'"),
            WRITE("'.kiro/settings/mcp.json'", "0") },
    { "W8", "make settings that were not there", "rules",
            "import os\nos.mkdir('.claude')\nopen('.claude/settings.json', 'w').close()",
            NULL },
    { "W9", "change a nested .git", "protected", APPEND("'nested/.git/config'"),
            WRITE("'nested/.git/config'", "0") },
    { "W10", "chmod outside", "writes", "import os\nos.chmod(OUT + '/f.txt', 0o777)",
            "S(SYS_fchmodat, -100, OUT + '/f.txt', 0o777)" },
    { "W10", "chmod of a protected file", "protected",
            "import os\nos.chmod('.git/config', 0o777)",
            "S(SYS_fchmodat, -100, '.git/config', 0o777)" },
    { "W10", "fchmod of what is open for reading", "writes",
            "import os\nos.fchmod(os.open(OUT + '/f.txt', os.O_RDONLY), 0o777)",
            "S(SYS_fchmod, os.open(OUT + '/f.txt', os.O_RDONLY), 0o777)" },
    { "W10", "the newer chmod", "writes", NULL,
            "S(452, -100, OUT + '/f.txt', 0o777, 0)" },
    { "W10", "a set-id bit on an own file", "always",
            "import os\nopen('sub/f', 'w').close()\nos.chmod('sub/f', 0o4755)",
            "open('sub/f', 'w').close()\nS(SYS_fchmodat, -100, 'sub/f', 0o4755)" },
    { "W10", "a file that is born with one", "always",
            "import os\nos.open('sub/f', os.O_CREAT | os.O_WRONLY, 0o4755)",
            "S(SYS_openat, -100, 'sub/f', os.O_CREAT | os.O_WRONLY, 0o4755)" },
    { "W10", "times outside", "writes", "import os\nos.utime(OUT + '/f.txt', (1, 1))",
            "S(SYS_utimensat, -100, OUT + '/f.txt', struct.pack('qqqq', 1, 0, 1, 0), "
            "0)" },
    { "W10", "times through a descriptor", "protected",
            "import os\nos.utime(os.open('.git/config', os.O_RDONLY), (1, 1))", NULL },
    { "W10", "the owner of a file outside", "writes",
            "import os\nos.chown(OUT + '/f.txt', os.getuid(), os.getgid())",
            "S(SYS_fchownat, -100, OUT + '/f.txt', os.getuid(), os.getgid(), 0)" },
    { "W10", "the owner through a descriptor", "writes",
            "import os\n"
            "os.fchown(os.open(OUT + '/f.txt', os.O_RDONLY), os.getuid(), os.getgid())",
            NULL },
    { "W10", "attributes outside", "writes",
            "import os\nos.setxattr(OUT + '/f.txt', 'user.x', b'x')",
            "S(SYS_setxattr, OUT + '/f.txt', 'user.x', 'x', 1, 0)" },
    { "W10", "attributes through a descriptor", "writes",
            "import os\n"
            "os.setxattr(os.open(OUT + '/f.txt', os.O_RDONLY), 'user.x', b'x')",
            "S(SYS_fsetxattr, os.open(OUT + '/f.txt', os.O_RDONLY), 'user.x', 'x', 1, "
            "0)" },
    { "W11", "make a FIFO", "always", "import os\nos.mkfifo('sub/fifo')",
            "S(SYS_mknodat, -100, 'sub/fifo', 0o10600, 0)" },
    { "W11", "make a device", "always", "import os\nos.mknod('sub/sda', 0o60600, 0x800)",
            "S(SYS_mknodat, -100, 'sub/sda', 0o60600, 0x800)" },
    { "W12", "map a file outside for writing", "writes",
            "import mmap, os\n"
            "m = mmap.mmap(os.open(OUT + '/f.txt', os.O_RDONLY), 7)\nm[0] = 120",
            NULL },
    { "W13", "win a race with links that change", "writes",
            "import os, threading\n"
            "os.mkdir('sub/real')\n"
            "def flip():\n"
            "    for i in range(1500):\n"
            "        os.symlink('real' if i % 2 else OUT, 'sub/t')\n"
            "        os.replace('sub/t', 'sub/flip')\n"
            "t = threading.Thread(target=flip)\nt.start()\n"
            "while t.is_alive():\n"
            "    try:\n"
            "        open('sub/flip/new', 'a').close()\n"
            "    except OSError:\n"
            "        pass\n"
            "if not os.path.exists(OUT + '/new'):\n"
            "    raise PermissionError('lost')",
            NULL },
    /* Of their halves no other path can be made whose folder is there. */
    { "W13", "win a race with a path in memory that changes", "protected", NULL,
            "buf = ctypes.create_string_buffer(b'sub//config', 16)\n"
            "stop = False\n"
            "def flip():\n"
            "    while not stop:\n"
            "        buf.value = b'.git/config'\n"
            "        buf.value = b'sub//config'\n"
            "t = threading.Thread(target=flip)\nt.start()\n"
            "for i in range(2000):\n"
            "    r = libc.syscall(ctypes.c_long(SYS_openat), -100, buf, os.O_WRONLY | "
            "os.O_CREAT, 0o644)\n"
            "    if r >= 0:\n"
            "        os.write(r, b'x')\n"
            "        os.close(r)\n"
            "stop = True\nt.join()\n"
            "if open('.git/config').read() == 'SECRET\\n':\n"
            "    raise PermissionError('lost')" },
    { "W14", "copy into a file that is open for reading", "protected", NULL,
            "open('sub/f', 'w').write('x')\n"
            "S(SYS_copy_file_range, os.open('sub/f', os.O_RDONLY), 0, "
            "os.open('.git/config', os.O_RDONLY), 0, 1, 0)" },
    { "W14", "clone into a file that is open for reading", "protected", NULL,
            "open('sub/f', 'w').write('x')\n"
            "S(SYS_ioctl, os.open('.git/config', os.O_RDONLY), 0x40049409, "
            "os.open('sub/f', os.O_RDONLY))" },
    { "W14", "splice into a file that is open for reading", "protected", NULL,
            "r, w = os.pipe()\nos.write(w, b'x')\n"
            "S(SYS_splice, r, 0, os.open('.git/config', os.O_RDONLY), 0, 1, 0)" },
    { "W15", "write in /tmp", "writes", APPEND("'/tmp/paddock-test-new'"),
            "S(SYS_openat, -100, '/tmp', os.O_TMPFILE | os.O_RDWR, 0o600)" },
    { "W15", "write in /var/tmp", "writes", APPEND("'/var/tmp/paddock-test-new'"),
            "S(SYS_openat, -100, '/var/tmp', os.O_TMPFILE | os.O_RDWR, 0o600)" },
    { "W17", "open with io_uring", "always", NULL,
            "S(SYS_io_uring_setup, 1, b'\\0' * 120)" },
    { "W17", "open by handle", "always", NULL,
            "S(SYS_open_by_handle_at, -100, b'\\0' * 64, 0)" },
    { "W17", "open with openat2", "writes", NULL,
            "S(SYS_openat2, -100, OUT + '/f.txt', struct.pack('QQQ', 1, 0, 0), 24)" },
    { "W17", "a setting of the kernel", "writes", APPEND("'/proc/sys/kernel/hostname'"),
            WRITE("'/proc/sys/kernel/hostname'", "0") },
    { "W17", "the own memory through /proc", "writes", "open('/proc/self/mem', 'r+b')",
            "S(SYS_openat, -100, '/proc/self/mem', os.O_RDWR, 0)" },
    { NULL, NULL, NULL, NULL, NULL },
};

#define READ(path) "print(open(" path ").read())"

const struct attempt read_attempts[] = {
    { "R18", "read a key", "secrets", READ("HOME + '/.ssh/key'"), NULL },
    { "R18", "read a token of npm", "secrets", READ("HOME + '/.npmrc'"), NULL },
    { "R18", "read credentials", "secrets", READ("HOME + '/.aws/credentials'"), NULL },
    { "R18", "read a secret in the workspace", "secrets", READ("'nested/.npmrc'"), NULL },
    { "R18", "read a key through a link", "secrets",
            "import os\nos.symlink(HOME + '/.ssh/key', 'sub/l')\n" READ("'sub/l'"),
            NULL },
    { "R18", "link a key into the workspace", "writes",
            "import os\nos.link(HOME + '/.ssh/key', 'sub/key')\n" READ("'sub/key'"),
            NULL },
    { "R18", "read relative to a folder", "secrets",
            "import os\nd = os.open(HOME, os.O_RDONLY)\n"
            "print(os.read(os.open('.ssh/key', os.O_RDONLY, dir_fd=d), 99))",
            NULL },
    { "R18", "read through /proc/self/root", "secrets",
            READ("'/proc/self/root' + HOME + '/.ssh/key'"), NULL },
    { "R18", "read through the root of the zygote", "always",
            READ("f'/proc/{ZYGOTE}/root{HOME}/.ssh/key'"), NULL },
    { "R18", "read through the root of the server", "always",
            READ("f'/proc/{SERVER}/root{HOME}/.ssh/key'"), NULL },
    { "R18", "read through the folder of the server", "always",
            "import os\nprint(os.listdir(f'/proc/{SERVER}/cwd'))", NULL },
    { "R19", "list a folder of secrets", "+secrets",
            "import os\nif not os.listdir(HOME + '/.ssh'):\n"
            "    raise PermissionError('empty')",
            NULL },
    { "R19", "the size of a secret", "+secrets",
            "import os\nprint(os.stat(HOME + '/.aws/credentials').st_size)\n"
            "if os.stat(HOME + '/.aws/credentials').st_size != 7:\n"
            "    raise PermissionError('not it')",
            NULL },
    { "R19", "the size of a key", "+secrets", "import os\nos.stat(HOME + '/.ssh/key')",
            NULL },
#define LOOK(who, file)                                                        \
    {                                                                          \
        "R21", file " of the " who, "signals",                                 \
                "print(open(f'/proc/{" who "}/" file "', 'rb').read(9))", NULL \
    }
    LOOK("SERVER", "environ"),
    LOOK("SERVER", "maps"),
    LOOK("SERVER", "auxv"),
    LOOK("ZYGOTE", "environ"),
    LOOK("ZYGOTE", "maps"),
    LOOK("SIBLING", "environ"),
    LOOK("SIBLING", "maps"),
    { "R21", "memory of the server", "signals", NULL,
            "S(SYS_openat, -100, f'/proc/{SERVER}/mem', os.O_RDONLY, 0)" },
    { "R21", "memory of the zygote", "signals", NULL,
            "S(SYS_openat, -100, f'/proc/{ZYGOTE}/mem', os.O_RDONLY, 0)" },
    { "R21", "memory of a sibling", "signals", NULL,
            "S(SYS_openat, -100, f'/proc/{SIBLING}/mem', os.O_RDONLY, 0)" },
    { "R21", "descriptors of the server", "signals",
            "import os\nprint(os.readlink(f'/proc/{SERVER}/fd/3'))", NULL },
    { "R21", "descriptors of the zygote", "signals",
            "import os\nprint(os.readlink(f'/proc/{ZYGOTE}/fd/3'))", NULL },
    { "R21", "descriptors of a sibling", "signals",
            "import os\nprint(os.readlink(f'/proc/{SIBLING}/fd/3'))", NULL },
    { "R22", "a secret of the server in the own environment", "always",
            "d = open('/proc/self/environ', 'rb').read()\nimport os\n"
            "if b'TOKEN' not in d and 'PADDOCK_TEST_TOKEN' not in os.environ:\n"
            "    raise PermissionError('none')",
            NULL },
    { "R22", "a secret of the server in the own memory", "always", NULL,
            "import re\ndef scan():\n"
            "    want = re.compile(b'-OF-THE-SERVE[R]')\n"
            "    mem = open('/proc/self/mem', 'rb', 0)\n"
            "    for line in open('/proc/self/maps'):\n"
            "        part = line.split()\n"
            "        if part[1][0] != 'r' or '[v' in line:\n"
            "            continue\n"
            "        a, b = (int(x, 16) for x in part[0].split('-'))\n"
            "        if b - a > 1 << 32:\n" /* the shadow of a sanitizer */
            "            continue\n"
            "        mem.seek(a)\n"
            "        if want.search(mem.read(b - a)):\n"
            "            return True\n"
            "if not scan():\n"
            "    raise PermissionError('not there')" },
    { "R23", "descriptors that were left open", "always",
            "import os\nnames = sorted(int(n) for n in os.listdir('/proc/self/fd'))\n"
            "left = []\n"
            "for n in names:\n"
            "    try:\n"
            "        os.fstat(n)\n"
            "        left.append(n)\n"
            "    except OSError:\n"
            "        pass\n"
            "print(left)\n"
            "if left == [0, 1, 2, 3, 4]:\n"
            "    raise PermissionError('none')",
            NULL },
    { "R24", "process_vm_readv of the server", "signals", NULL,
            "S(SYS_process_vm_readv, SERVER, b'\\0' * 16, 1, b'\\0' * 16, 1, 0)" },
    { "R24", "ptrace a sibling", "signals", NULL,
            "S(SYS_ptrace, 0x4206, SIBLING, 0, 0)" },
    { "R24", "ptrace the zygote", "signals", NULL, "S(SYS_ptrace, 16, ZYGOTE, 0, 0)" },
    { "R24", "take a descriptor of the server", "signals", NULL,
            "S(SYS_pidfd_getfd, 0, 3, 0)" },
    { "R24", "a handle of the server", "signals", "import os\nos.pidfd_open(SERVER)",
            "S(SYS_pidfd_open, SERVER, 0)" },
    { "R26", "read the session keyring", "always", NULL, "S(SYS_keyctl, 11, -3, 0, 0)" },
    { NULL, NULL, NULL, NULL, NULL },
};
