"""An engine that costs nothing: answers, streams and swallows as fast as the loop can. ``front_engine.py PORT``."""

import asyncio
import sys

import uvloop

BLOCK = b"10000\r\n" + b"x" * 65536 + b"\r\n"
EVENT = b"data: " + b"y" * 180 + b"\n\n"
CHUNK = b"%x\r\n" % len(EVENT) + EVENT + b"\r\n"


class Engine(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.room = asyncio.Event()
        self.room.set()

    def data_received(self, data):
        path = data.split(b" ", 2)[1]
        if path == b"/small":
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        elif path.startswith(b"/bulk/"):
            self.task = asyncio.ensure_future(self.stream(BLOCK, int(path[6:]) * 16))
        elif path.startswith(b"/events/"):
            self.task = asyncio.ensure_future(self.stream(CHUNK, int(path[8:])))

    async def stream(self, block, count):
        self.transport.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(count):
            await self.room.wait()
            self.transport.write(block)
            if block is CHUNK:
                await asyncio.sleep(0)
        self.transport.write(b"0\r\n\r\n")

    def pause_writing(self):
        self.room.clear()

    def resume_writing(self):
        self.room.set()


async def main():
    server = await asyncio.get_running_loop().create_server(Engine, "127.0.0.1", int(sys.argv[1]), backlog=1024)
    await server.serve_forever()


uvloop.run(main())
