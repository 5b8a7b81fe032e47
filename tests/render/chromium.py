"""A headless Chromium, where the machine has one: pages are opened in it, scripts are run in them, pictures taken."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
needed = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")

_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
DARK = "--blink-settings=preferredColorScheme=0"


def chromium(profile: Path, address: str, *flags: str) -> str:
    assert PROGRAM is not None
    command = [PROGRAM, *_FLAGS, f"--user-data-dir={profile}", *flags, address]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def answer(page: Path, script: str, profile: Path, fragment: str = "", *flags: str) -> Any:
    """What a script returns, run in the page once the walk is there; it may await. Errors of the page are raised."""
    text = page.read_text("utf-8")
    bare = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text, count=1)  # it would refuse the script
    asked = page.with_name(f"{page.stem}-asked.html")
    asked.write_text(
        bare.replace("<head>", f"<head>{_WATCH}", 1).replace("</body>", f"{_ASK.replace('SCRIPT', script)}</body>"),
        "utf-8",
    )
    dumped = chromium(profile, asked.as_uri() + fragment, "--virtual-time-budget=60000", "--dump-dom", *flags)
    found = re.search(r'<pre id="answer">(.*?)</pre>', dumped, re.DOTALL)
    assert found, f"the page gave no answer: {dumped[-2000:]}"
    said = json.loads(unescape(found[1]))
    assert said["errors"] == [], said["errors"]
    return said["answer"]


_WATCH = """<script>
window.errors = [];
window.requestAnimationFrame = (draw) => setTimeout(draw, 16); // no frames are drawn when only the DOM is asked for
addEventListener("error", (event) => errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));
</script>"""

_ASK = """<script>
(async () => {
  const pause = () => new Promise((go) => setTimeout(go, 60));
  const press = (key, target = document.body) =>
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const all = (selector) => [...document.querySelectorAll(selector)];
  const text = (selector) => all(selector).map((each) => each.textContent);
  let answer = null;
  try {
    for (let tries = 0; !window.gradviz && !errors.length && tries < 500; tries++) await pause();
    await pause();
    answer = await (async () => { SCRIPT })();
    await pause();
  } catch (error) {
    errors.push(String(error.stack));
  }
  const said = document.createElement("pre");
  said.id = "answer";
  said.textContent = JSON.stringify({ answer, errors });
  document.body.append(said);
})();
</script>"""
