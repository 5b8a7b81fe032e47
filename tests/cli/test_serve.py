"""The debugger in a browser: it starts on loopback, answers, and lets no foreign page in."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from gradviz.cli.serving import command_for, is_ours, url_of


def test_without_the_extra_one_line_names_it(gradviz, monkeypatch):
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    result = gradviz("serve", "mlp")
    assert result.exit_code == 2
    assert "pip install 'gradviz[serve]'" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_file_that_is_no_net_is_refused_before_anything_listens(gradviz, tmp_path):
    pytest.importorskip("textual_serve")
    bad = tmp_path / "bad.pb"
    bad.write_bytes(b"")
    result = gradviz("serve", str(bad))
    assert result.exit_code == 2
    assert "bad.pb" in result.stderr


def test_a_port_that_is_taken_is_said(gradviz):
    pytest.importorskip("textual_serve")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = gradviz("serve", "mlp", "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 2
    assert "choose another" in result.stderr


@pytest.mark.parametrize(
    ("host", "origin", "listening", "ours"),
    [
        ("127.0.0.1:8000", None, "127.0.0.1", True),
        ("localhost:8000", "http://localhost:8000", "127.0.0.1", True),
        ("[::1]:8000", "http://[::1]:8000", "::1", True),
        ("127.0.0.1:8000", "http://evil.example", "127.0.0.1", False),
        ("127.0.0.1:8000", "null", "127.0.0.1", False),
        ("evil.example:8000", "http://evil.example:8000", "127.0.0.1", False),
        ("127.evil.example", None, "localhost", False),
        ("box:8000", "http://box:8000", "0.0.0.0", True),
        ("box:8000", "http://evil.example", "0.0.0.0", False),
    ],
)
def test_foreign_pages_stay_out(host, origin, listening, ours):
    assert is_ours(host, origin, listening) is ours


def test_addresses_and_commands():
    assert url_of("127.0.0.1", 80) == "http://127.0.0.1:80"
    assert url_of("::1", 8000) == "http://[::1]:8000"
    assert url_of("0.0.0.0", 8000) == f"http://{socket.gethostname()}:8000"
    assert command_for(None).endswith("gradviz.tui.served")
    if sys.platform != "win32":
        assert command_for("a b'; rm").endswith("""served 'a b'"'"'; rm'""")


def get(port, **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.status, answer.read().decode()


def started(folder):
    """The port and the process of a server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gradviz", "serve", "mlp", "--port", str(port)]
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return port, subprocess.Popen(command, text=True, cwd=folder, env=environment, **pipes)


def test_it_starts_and_answers_on_loopback(tmp_path):
    pytest.importorskip("textual_serve")
    port, process = started(tmp_path)
    try:
        status, page = _answer(process, port)
        assert status == 200
        assert f"ws://127.0.0.1:{port}/ws" in page
        with pytest.raises(urllib.error.HTTPError, match="403"):
            get(port, Origin="http://evil.example")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            get(port, Host="evil.example")
    finally:
        process.terminate()
        out, err = process.communicate(timeout=20)
    assert out == ""
    assert f"http://127.0.0.1:{port}" in err


def _answer(process, port):
    for _ in range(300):
        if process.poll() is not None:
            pytest.fail(process.stderr.read())
        try:
            return get(port)
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    pytest.fail("no answer")


def test_a_visitor_gets_the_debugger(tmp_path):
    """What the server runs for each visitor draws to the browser's driver, not to a terminal."""
    environment = {
        **os.environ,
        "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver",
        "XDG_STATE_HOME": str(tmp_path),
        "COLUMNS": "120",
        "ROWS": "40",
    }
    command = [sys.executable, "-m", "gradviz.tui.served", "mlp"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    try:
        seen = b""
        while b"Forward net" not in seen:
            part = process.stdout.read1(65536)
            assert part, seen[-300:]
            seen += part
        assert seen.startswith(b"__GANGLION__")
    finally:
        process.kill()
        process.communicate()


async def test_a_browser_sees_the_debugger_and_a_foreign_page_does_not(tmp_path):
    """Over the page's own web socket, as a browser opens it."""
    pytest.importorskip("textual_serve")
    import aiohttp

    port, process = started(tmp_path)
    url = f"ws://127.0.0.1:{port}/ws?width=120&height=40"
    try:
        _answer(process, port)
        async with aiohttp.ClientSession() as client:
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await client.ws_connect(url, origin="http://evil.example")
            async with client.ws_connect(url, origin=f"http://127.0.0.1:{port}") as page:
                await page.send_json(["focus"])
                seen = b""
                while b"Forward net" not in seen:
                    message = await page.receive(timeout=30)
                    assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), message
                    seen += message.data if isinstance(message.data, bytes) else message.data.encode()
                await page.send_json(["stdin", "q"])
    finally:
        process.terminate()
        process.communicate(timeout=20)
