#!/usr/bin/env python3
"""A file system of FUSE in which each listing takes longer than anybody waits.

usage: slow-files.py FOLDER SECONDS     as root; says "mounted", and ends with its mount

It has files e0 to e19, each with the line "k".  What the kernel asks and is answered is in
linux/fuse.h.
"""
import ctypes
import os
import struct
import sys
import threading
import time

folder, seconds = sys.argv[1], float(sys.argv[2])
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE = 1, 2, 3, 14, 15, 17, 18
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = 25, 26, 27, 28, 29, 36, 42
ENOENT, ENOSYS = 2, 38
NAMES = [f"e{i}" for i in range(20)]
device = os.open("/dev/fuse", os.O_RDWR)


def attributes(node):
    is_dir = node == 1
    numbers = [node, 0 if is_dir else 2, *[0] * 4]  # inode, size, blocks, three times
    return struct.pack("<6Q10I", *numbers, 0, 0, 0, 0o40755 if is_dir else 0o100644,
                       1, 0, 0, 0, 4096, 0)


def listing(offset):
    time.sleep(seconds)
    if offset >= len(NAMES):
        return b""
    name = NAMES[offset].encode()
    return struct.pack("<QQII", 10 + offset, offset + 1, len(name), 8) + name.ljust(8, b"\0")


def answer(operation, node, body):
    """(error, data); None: nobody waits for one."""
    if operation in (FORGET, BATCH_FORGET, INTERRUPT):
        return None
    if operation == INIT:
        return 0, struct.pack("<4I2H10I", 7, 31, 65536, 0, 16, 12, 65536, 1, *[0] * 8)
    if operation == GETATTR:
        return 0, struct.pack("<QII", 0, 0, 0) + attributes(node)
    if operation == LOOKUP:
        name = body.rstrip(b"\0").decode()
        if name not in NAMES:
            return ENOENT, b""
        found = 10 + NAMES.index(name)
        return 0, struct.pack("<4Q2I", found, 0, 0, 0, 0, 0) + attributes(found)
    if operation in (OPEN, OPENDIR):
        return 0, struct.pack("<QII", 1, 0, 0)
    if operation == READDIR:
        return 0, listing(struct.unpack_from("<QQ", body)[1])
    if operation == READ:
        _, offset, size = struct.unpack_from("<QQI", body)
        return 0, b"k\n"[offset:offset + size]
    if operation == STATFS:
        return 0, b"\0" * 80
    return (0, b"") if operation in (RELEASE, RELEASEDIR, FLUSH) else (ENOSYS, b"")


def handle(message):
    size, operation, unique, node = struct.unpack_from("<IIQQ", message)
    done = answer(operation, node, message[40:size])
    if done:
        try:
            os.write(device, struct.pack("<IiQ", 16 + len(done[1]), -done[0], unique) + done[1])
        except OSError:
            pass  # who asked is gone


options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"slow", folder.encode(), b"fuse", 0, options):
    sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
print("mounted", flush=True)
try:
    while True:
        threading.Thread(target=handle, args=(os.read(device, 1 << 17),), daemon=True).start()
except OSError:
    pass  # it has been unmounted
