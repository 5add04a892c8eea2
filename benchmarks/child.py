"""What child.c does, where there is no C compiler: ``child.py SOCKET [stubborn]``."""

import os
import signal
import socket
import sys
import time

if __name__ == "__main__":
    began = time.monotonic_ns()
    if len(sys.argv) > 2:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.sendto(b"%d %d" % (os.getpid(), began), sys.argv[1])
    while True:
        signal.pause()
