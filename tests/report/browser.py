"""Pages in headless Chromium, for tests: what they show, say to the console, ask the network for, and look like.

    with Browser() as browser:
        page = browser.open("report.html", width=390, dark=True)
        page.console, page.requests, page.text, page.evaluate("document.title"), page.screenshot("report.png")

The DevTools protocol over two pipes: JSON, each message ended by a zero byte. The network is off.
"""

import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

SECONDS = 60  # for any answer
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39}


class Browser:
    def __init__(self):
        program = shutil.which("chromium")
        if program is None:
            raise SystemExit("there is no chromium to open pages with; tools/setup test installs it")
        self.folder = tempfile.TemporaryDirectory(prefix="ick_browser_", ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        # Chromium reads from 3 and writes to 4: both ends first out of the way of these numbers.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (to_read, to_write)]

        def place():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        options = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
                   "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars "
                   "--remote-debugging-pipe").split()
        self.process = subprocess.Popen(
            [program, *options, f"--user-data-dir={self.folder.name}/profile", "about:blank"],
            env={**os.environ, "HOME": self.folder.name}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, preexec_fn=place, pass_fds=(3, 4), start_new_session=True)
        for end in (to_read, to_write, *ends):
            os.close(end)
        self.rest, self.count, self.pages = b"", 0, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, EOFError, TimeoutError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # the session that was started here, and no other
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.to)
        os.close(self.back)
        self.folder.cleanup()

    def receive(self, until):
        """The next message; events are handed to their page."""
        while b"\0" not in self.rest:
            if not select.select([self.back], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError("chromium did not answer")
            read = os.read(self.back, 1 << 20)
            if not read:
                raise EOFError("chromium is gone")
            self.rest += read
        message, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(message)
        if "method" in message and message.get("sessionId") in self.pages:
            self.pages[message["sessionId"]].happened(message["method"], message["params"])
        return message

    def call(self, method, session=None, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        until = time.monotonic() + SECONDS
        while True:
            answer = self.receive(until)
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, path, width=1280, height=900, dark=False, scripts=True, phone=False):
        """The page of a file, loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, session, path, width, height, dark, scripts, phone)


class Page:
    def __init__(self, browser, session, path, width, height, dark, scripts, phone):
        self.browser, self.session = browser, session
        self.console, self.requests, self.loaded = [], [], False
        browser.pages[session] = self
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.call(f"{domain}.enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.media(dark=dark)
        if not scripts:
            self.call("Emulation.setScriptExecutionDisabled", value=True)
        url = pathlib.Path(path).resolve().as_uri()
        self.call("Page.navigate", url=url)
        until = time.monotonic() + SECONDS
        while not self.loaded:
            browser.receive(until)
        self.requests = [request for request in self.requests if request != url]

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def happened(self, method, event):
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(each.get("value", each.get("description"))) for each in event["args"]))
        elif method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.console.append(event["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])

    def media(self, dark=False, kind=""):
        """Light or dark; kind: "print" for what a printer is given."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=kind, features=[scheme])

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", expression))
        return result["result"].get("value")

    @property
    def text(self):
        """The document as it is now, as HTML."""
        return self.call("DOM.getOuterHTML", nodeId=self.call("DOM.getDocument")["root"]["nodeId"])["outerHTML"]

    def press(self, key):
        text = {"text": key} if len(key) == 1 else {}
        code = {"windowsVirtualKeyCode": KEYS[key], "code": key} if key in KEYS else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **code)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **code)

    def mouse(self, kind, x, y, **more):
        """kind: mouseMoved, mousePressed, mouseReleased; in pixels of the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def screenshot(self, path, whole=True):
        clip = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **clip)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(image))

    def pdf(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))
