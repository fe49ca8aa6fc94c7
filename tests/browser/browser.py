"""A real Chromium for tests of web pages, driven through its DevTools pipe: no package is needed for that."""

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from queue import Queue

FLAGS = ["--headless=shell", "--no-sandbox", "--no-zygote", "--single-process", "--disable-gpu", "--disable-dev-shm-usage"]


class Browser:
    """A browser, until `close`. It is the program at $AGENT_CHROMIUM: `with_browser.py` sets that."""

    def __init__(self):
        program = Path(os.environ["AGENT_CHROMIUM"])
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()
        # The browser reads from 3 and writes to 4: not where one of ours is.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (theirs_in, theirs_out)]
        flags = [*FLAGS, "--remote-debugging-pipe", f"--user-data-dir={self._profile}", "about:blank"]
        library = {"LD_LIBRARY_PATH": str(program.parent / "lib"), "FONTCONFIG_PATH": str(program.parent)}
        self._log = open(Path(self._profile) / "log", "w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [program, *flags],
            preexec_fn=lambda: [os.dup2(fd, to) for to, fd in enumerate(high, 3)],
            close_fds=False,  # none of ours is inherited
            env=os.environ | library,
            stdout=self._log,
            stderr=self._log,
        )
        for fd in (theirs_in, theirs_out, *high):
            os.close(fd)
        self._out, self._in = os.fdopen(ours_out, "wb", buffering=0), os.fdopen(ours_in, "rb")
        self._answers, self._number = {}, 0
        self.events = []  # those of the domains that a page has enabled, in order
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        rest = b""
        while more := self._in.read1(1 << 16):
            *messages, rest = (rest + more).split(b"\0")
            for message in map(json.loads, messages):
                if waiting := self._answers.pop(message.get("id"), None):
                    waiting.put(message)
                elif "method" in message:
                    self.events.append(message)
        for waiting in list(self._answers.values()):
            waiting.put({"error": {"message": "the browser has ended"}})

    def call(self, method, session=None, **parameters):
        """Calls a method of the protocol, and returns its result."""
        self._number += 1
        answer = self._answers[self._number] = Queue()
        call = {"id": self._number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        self._out.write(json.dumps(call).encode() + b"\0")
        message = answer.get(timeout=60)  # far longer than it takes, so that a failure ends
        if "error" in message:
            self._log.seek(0)
            raise RuntimeError(f"{method}: {message['error']['message']}\n{self._log.read()}")
        return message["result"]

    def page(self, address=None):
        """A page of its own, as a new tab."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        page = Page(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        if address:
            page.open(address)
        return page

    def close(self):
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._in.close()
        self._out.close()
        self._log.close()
        shutil.rmtree(self._profile, ignore_errors=True)


class Page:
    def __init__(self, browser, session):
        self._browser, self._session = browser, session

    def call(self, method, **parameters):
        """Calls a method of the protocol about this page."""
        return self._browser.call(method, self._session, **parameters)

    def open(self, address):
        failed = self._browser.call("Page.navigate", self._session, url=address).get("errorText")
        assert not failed, failed

    def reload(self):
        """Loads the page again, with nothing left of it: what it knew is gone."""
        self.evaluate("window.isOld = true")
        self._browser.call("Page.reload", self._session)
        self.until("!window.isOld && document.readyState === 'complete'")

    def evaluate(self, expression):
        """The value of an expression in JavaScript, or what its promise resolves to."""
        options = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        answer = self._browser.call("Runtime.evaluate", self._session, **options)
        if problem := answer.get("exceptionDetails"):
            raise RuntimeError(f"{expression}: {problem.get('exception', problem).get('description', problem)}")
        return answer["result"].get("value")

    def until(self, condition):
        """Blocks until this is true, which is looked at whenever the page is painted or the document changes."""
        for _ in range(600):
            try:
                if self.evaluate(f"new Promise((done) => ({condition}) ? done(true) : setTimeout(() => done({condition}), 50))"):
                    return
            except RuntimeError as error:
                # The page was left meanwhile.
                if "context" not in str(error) and "navigated" not in str(error):
                    raise
        raise TimeoutError(f"it never came: {condition}; the page has: {self.evaluate('document.body.innerText')}")
