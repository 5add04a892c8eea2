"""Where messages begin and end, found by httptools; the bytes themselves pass untouched.

httptools reports that a message ended, not at which byte. Heads and chunked bodies end with a line end, so
feeding them line by line makes the end exact without a parser of our own; a counted body needs none.
No ``on_body`` is defined: httptools then skips bodies without copying them.
"""

from __future__ import annotations

import httptools

from genesisd.errors import GenesisError

HEAD_LIMIT = 64 << 10
_CHUNKED_HEAD = b"POST / HTTP/1.1\r\nHost: front\r\nTransfer-Encoding: chunked\r\n\r\n"


class FramingError(GenesisError):
    """The bytes are not HTTP/1.1; the message says what httptools found."""

    code = "framing"


class HeadTooLargeError(FramingError):
    """The head is longer than HEAD_LIMIT."""


class RequestFramer:
    """Follows one request. ``feed`` stops at the end of the head and at the end of the request."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._seen = 0
        self._left: int | None = None
        self._chunked = False
        self._ended = False
        self.head_done = False
        self.done = False
        self.keep_alive = True
        self.method = b""

    def feed(self, data: bytes, start: int) -> int:
        """Take bytes from ``start``; returns where it stopped. Raises FramingError."""
        if not self.head_done:
            return self._feed_head(data, start)
        if self._left is None:
            return self._feed_lines(data, start)
        stop = min(len(data), start + self._left)
        self._left -= stop - start
        self.done = self._left == 0
        return stop

    def _feed_head(self, data: bytes, start: int) -> int:
        pos = start
        while pos < len(data) and not self.head_done:
            stop = data.find(b"\n", pos) + 1 or len(data)
            self._seen += stop - pos
            if self._seen > HEAD_LIMIT:
                raise HeadTooLargeError("head too large")
            self._parse(data[pos:stop])
            pos = stop
        return pos

    def _feed_lines(self, data: bytes, start: int) -> int:
        pos = start
        with memoryview(data) as view:
            while pos < len(data) and not self.done:
                stop = data.find(b"\n", pos) + 1 or len(data)
                self._parse(view[pos:stop])
                self.done = self._ended
                pos = stop
        return pos

    def _parse(self, piece: bytes | memoryview) -> None:
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            # The parser stops at an Upgrade as if no body followed. Java's client offers h2c on every POST,
            # so the body is framed all the same.
            self._ended = self._left is None and not self._chunked
            if self._chunked:
                self._parser = httptools.HttpRequestParser(_End(self))
                self._parser.feed_data(_CHUNKED_HEAD)
        except httptools.HttpParserError as error:
            raise FramingError(str(error) or type(error).__name__) from None
        if self.head_done and self._parser.get_http_version() not in ("1.0", "1.1"):
            raise FramingError("only HTTP/1.0 and HTTP/1.1 are spoken here")
        if self.head_done and not self._chunked and not self._left:
            self.done = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by httptools."""
        if self.head_done:
            return
        lower = name.lower()
        if lower == b"content-length":
            self._left = int(value)
        elif lower == b"transfer-encoding":
            self._chunked = True

    def on_headers_complete(self) -> None:
        """Called by httptools."""
        self.head_done = True
        self.method = self._parser.get_method()
        self.keep_alive = self._parser.should_keep_alive()

    def on_message_complete(self) -> None:
        """Called by httptools; an Upgrade ends here too early when a body follows."""
        self._ended = not self._parser.should_upgrade()


class _End:
    """Tells a framer that the chunked body behind an Upgrade has ended."""

    def __init__(self, framer: RequestFramer) -> None:
        self._framer = framer

    def on_message_complete(self) -> None:
        """Called by httptools."""
        self._framer._ended = True  # noqa: SLF001 - the second half of the same class


class AnswerFramer:
    """Follows the answer to one request, past any interim (1xx) answers."""

    def __init__(self, *, head: bool) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._head_request = head
        self._delimited = False
        self._close = False
        self._final = False
        self.started = False
        """A byte of the final answer was seen (interim answers do not count)."""
        self.done = False
        self.upgraded = False
        self.keep_alive = False
        self.surplus = False
        """Bytes followed that belong to no request."""

    @property
    def until_eof(self) -> bool:
        """Only the end of the connection ends this answer."""
        return self._final and not self._delimited and not self.done

    def feed(self, data: bytes) -> None:
        """Take bytes of the answer. Raises FramingError."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.upgraded = True
        except httptools.HttpParserError as error:
            if not self.done:
                raise FramingError(str(error) or type(error).__name__) from None
            self.surplus = True

    def on_message_begin(self) -> None:
        """Called by httptools."""
        self.surplus = self.done
        self.started = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by httptools."""
        lower = name.lower()
        if lower in (b"content-length", b"transfer-encoding"):
            self._delimited = True
        elif lower == b"connection" and b"close" in value.lower():
            self._close = True

    def on_headers_complete(self) -> None:
        """Called by httptools."""
        status = self._parser.get_status_code()
        self._final = status >= 200
        self.upgraded = status == 101
        if self._final:
            self.keep_alive = self._parser.should_keep_alive()
            if self._head_request:
                self.done = True
                self.keep_alive = not self._close and self._parser.get_http_version() == "1.1"

    def on_message_complete(self) -> None:
        """Called by httptools, for interim answers too."""
        if self._final:
            self.done = True
        elif not self.upgraded:
            self.started = False
            self._delimited = False
