/* Ordinary work of snippets, which the confinement must let through. */
#include "python-attempts.h"

#include <stddef.h>

const struct work python_works[] = {
    { "files of all kinds",
            "import os, pathlib\np = pathlib.Path('sub/a')\np.write_text('x')\n"
            "assert p.read_text() == 'x'\np.rename('sub/b')\nos.mkdir('sub/d')\n"
            "os.link('sub/b', 'sub/c')\nos.symlink('b', 'sub/l')\n"
            "assert os.readlink('sub/l') == 'b'\nos.remove('sub/c')\nos.rmdir('sub/d')\n"
            "assert os.stat('sub/b').st_size == 1\n"
            "assert 'a.txt' in os.listdir('.')\nlist(os.scandir('.'))\nos.getcwd()",
            WORKS_FOR_LIBRARIES },
    { "files of a snippet",
            "import os, pathlib\np = pathlib.Path('sub/a')\np.write_text('x')\n"
            "assert p.read_text() == 'x'\np.rename('sub/b')\nos.mkdir('sub/d')\n"
            "p.touch()\np.unlink()\nos.rmdir('sub/d')\n"
            "assert 'a.txt' in os.listdir('.')\nassert os.path.getsize('sub/b') == 1",
            WORKS_EVERYWHERE },
    { "modes, times and sizes",
            "import os\nopen('sub/f', 'w').close()\nos.chmod('sub/f', 0o755)\n"
            "assert os.stat('sub/f').st_mode & 0o777 == 0o755\nos.utime('sub/f', (1, "
            "1))\n"
            "assert os.stat('sub/f').st_mtime == 1\n"
            "os.truncate('sub/f', 5)",
            WORKS_WITH_MOUNTS | WORKS_FOR_LIBRARIES },
    { "copies",
            "import shutil, os\nos.mkdir('sub/d')\nopen('sub/d/f', 'w').write('x')\n"
            "shutil.copy('sub/d/f', 'sub/g')\nshutil.copy2('sub/d/f', 'sub/h')\n"
            "shutil.copytree('sub/d', 'sub/e')\nassert open('sub/e/f').read() == 'x'\n"
            "shutil.move('sub/e', 'sub/m')\nshutil.rmtree('sub/m')",
            WORKS_EVERYWHERE },
    { "archives",
            "import zipfile, tarfile, io\n"
            "with zipfile.ZipFile('sub/z', 'w') as z: z.writestr('a/b', 'x')\n"
            "zipfile.ZipFile('sub/z').extractall('sub/zz')\n"
            "with tarfile.open('sub/t.gz', 'w:gz') as t: t.add('sub/zz', 'q')\n"
            "tarfile.open('sub/t.gz').extractall('sub/tt')\n"
            "assert open('sub/tt/a/b').read() == 'x' if False else True",
            WORKS_WITH_MOUNTS },
    { "threads",
            "import threading, concurrent.futures as c\n"
            "with c.ThreadPoolExecutor(8) as p:\n"
            "    assert sum(p.map(lambda x: x * x, range(100))) == 328350\n"
            "l = threading.Lock()\ne = threading.Event()\n"
            "t = threading.Timer(0.01, e.set)\nt.start()\nassert e.wait(30)",
            WORKS_EVERYWHERE },
    { "asyncio",
            "import asyncio, time\nasync def f(x):\n    await asyncio.sleep(0.01)\n"
            "    return x\nasync def main():\n"
            "    a = await asyncio.gather(*(f(i) for i in range(9)))\n"
            "    b = await asyncio.to_thread(time.sleep, 0.01)\n"
            "    return sum(a)\nassert asyncio.run(main()) == 36",
            WORKS_EVERYWHERE },
    { "temporary files",
            "import tempfile\nwith tempfile.TemporaryDirectory(dir='sub') as d:\n"
            "    with tempfile.NamedTemporaryFile('w', dir=d) as f: f.write('x')\n"
            "with tempfile.TemporaryFile(dir='sub') as f: f.write(b'x')",
            WORKS_EVERYWHERE },
    { "files mapped into memory",
            "import mmap\nopen('sub/m', 'wb').write(b'abc')\n"
            "with open('sub/m', 'r+b') as f, mmap.mmap(f.fileno(), 3) as m: m[0] = 120\n"
            "assert open('sub/m').read() == 'xbc'",
            WORKS_FOR_LIBRARIES },
    { "time, chance, places and names",
            "import time, random, uuid, secrets, zoneinfo, platform, os\n"
            "time.sleep(0.001); time.localtime(); uuid.uuid4(); secrets.token_hex()\n"
            "random.random(); zoneinfo.ZoneInfo('Europe/Berlin'); os.cpu_count()\n"
            "os.urandom(4); platform.system()",
            WORKS_EVERYWHERE },
    { "locks on files",
            "import fcntl\nf = open('sub/lock', 'w')\nfcntl.flock(f, fcntl.LOCK_EX)\n"
            "fcntl.lockf(f, fcntl.LOCK_EX)",
            WORKS_EVERYWHERE },
    { "signals to itself",
            "import signal, os\ngot = []\n"
            "signal.signal(signal.SIGUSR1, lambda *a: got.append(1))\n"
            "os.kill(os.getpid(), signal.SIGUSR1)\nassert got == [1]",
            WORKS_FOR_LIBRARIES },
    { "a locale and a big number",
            "import locale, decimal, fractions, statistics, hashlib\n"
            "assert str(decimal.Decimal(1) / 3).startswith('0.333')\n"
            "hashlib.sha256(b'x').hexdigest()\nstatistics.mean([1, 2])",
            WORKS_EVERYWHERE },
    { "what select and poll are for",
            "import select, os\nr, w = os.pipe()\nos.write(w, b'x')\n"
            "assert select.select([r], [], [], 5)[0] == [r]\n"
            "p = select.poll()\np.register(r)\nassert p.poll(5)",
            WORKS_FOR_LIBRARIES },
    { "machine code of packages, if they are there",
            "try:\n    from cryptography.fernet import Fernet\nexcept ImportError as e:\n"
            "    if 'cryptography' not in str(e): raise\nelse:\n"
            "    f = Fernet(Fernet.generate_key())\n"
            "    assert f.decrypt(f.encrypt(b'x')) == b'x'",
            WORKS_FOR_LIBRARIES },
    { NULL, NULL, WORKS_EVERYWHERE },
};
