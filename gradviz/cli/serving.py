"""The debugger in a browser, through textual-serve: each visitor gets a process of their own."""

from __future__ import annotations

import ipaddress
import shlex
import socket
import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

from gradviz.cli.talk import say
from gradviz.errors import GradvizError


def command_for(model: str | None) -> str:
    """The command line that shows the debugger to one visitor, as the system's shell takes it."""
    words = [sys.executable, "-m", "gradviz.tui.served", *([] if model is None else [model])]
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def serve(model: str | None, host: str, port: int) -> None:
    """Serve until the process is ended.

    Args:
        model: the net; None lets each visitor choose.
        host: address to listen on.
        port: port to listen on.

    Raises:
        GradvizError: textual-serve is missing, there is no net in the file, or the address is taken.
    """
    server = _server()
    if model is not None:
        from gradviz.nets import load

        load(model)  # what is wrong with a file is said here, not in the browser
    _check_free(host, port)
    if not is_loopback(host):
        say(f"warning: {host} may be reached by others; they can read and write files as you can")
    server(command_for(model), host=host, port=port, title="gradviz", public_url=url_of(host, port)).serve()


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def url_of(host: str, port: int) -> str:
    """Where a browser finds what listens on an address; one that stands for all is called by the machine's name."""
    name = socket.gethostname() if host in ("0.0.0.0", "::", "") else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def is_ours(host: str, origin: str | None, listening: str) -> bool:
    """Whether a request comes from our own page, and not from another one that is open in the same browser.

    Args:
        host: the Host that was asked for.
        origin: the page that asked, where the browser tells.
        listening: the address that we listen on.
    """
    if is_loopback(listening) and not is_loopback(urlsplit(f"//{host}").hostname or ""):
        return False  # a foreign name that leads here
    return origin is None or urlsplit(origin).netloc.lower() == host.lower()


def _server() -> Any:
    """textual-serve's server, which lets foreign pages in no more and says where it is on stderr."""
    try:
        from aiohttp import web
        from textual_serve.server import Server
    except ImportError as error:
        raise GradvizError("`gradviz serve` needs the extra `serve`: pip install 'gradviz[serve]'") from error

    class Guarded(Server):
        async def _make_app(self) -> Any:
            app = await super()._make_app()
            app.middlewares.append(self._guard)
            return app

        @property
        def _guard(self) -> Any:
            listening = self.host

            @web.middleware
            async def guard(request: Any, handler: Any) -> Any:
                if not is_ours(request.host, request.headers.get("Origin"), listening):
                    raise web.HTTPForbidden(text="gradviz: this page may not talk to the debugger")
                return await handler(request)

            return guard

        async def on_startup(self, app: Any) -> None:
            say(f"the debugger is at {self.public_url}; ctrl+c ends it")

        def initialize_logging(self) -> None:
            """Say nothing of each request."""

    return Guarded


def _check_free(host: str, port: int) -> None:
    """Say that an address is taken before the server does so in its own words."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise GradvizError(
            f"cannot listen on {host} port {port}: {why}; choose another with --host or --port"
        ) from error
