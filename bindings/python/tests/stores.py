"""What the tests of stores have in common."""

import itertools
import time

from agent_loop import BusyError, NotFoundError, Store, UserMessage

SQLITE, JSONL = "sqlite:{}/agents.db", "jsonl:{}/sessions"
KINDS = ["sqlite", "jsonl", "memory", "custom", "async"]


def said(text):
    """A record of a user's message."""
    return {"kind": "message", "message": UserMessage(text)}


def texts(messages):
    return [message.text for message in messages]


def now_ms():
    return int(time.time() * 1000)


class Lists:
    """A store of an application: sessions in dicts. Its methods are plain, and called on several threads."""

    name = "the lists"

    def __init__(self):
        self.sessions = {}
        self.tokens = itertools.count(1)

    def _held(self, lease):
        session = self.sessions.get(lease["id"])
        if session is None or session["token"] != lease["token"]:
            raise BusyError(f"the session {lease['id']} is somebody else's")
        return session

    def acquire(self, request):
        new = {"lines": [], "holder": None, "title": None, "metadata": None, "created_ms": now_ms(), "updated_ms": now_ms()}
        session = self.sessions.setdefault(request["id"], new)
        if session["holder"] is not None:
            raise BusyError(f"it is open elsewhere, by {session['holder']}")
        session.update(holder=request["holder"], token=next(self.tokens))
        return {"token": session["token"]}

    def renew(self, leases, lease_ms):
        return [lease["id"] for lease in leases if self.sessions[lease["id"]]["token"] != lease["token"]]

    def release(self, lease):
        self._held(lease)["holder"] = None

    def append(self, lease, seq, lines):
        session = self._held(lease)
        assert seq == len(session["lines"]) + 1
        session["lines"] += lines
        session["updated_ms"] = now_ms()

    def read(self, id, after, limit):
        if id not in self.sessions:
            raise NotFoundError(f"there is no {id}")
        lines = enumerate(self.sessions[id]["lines"], 1)
        return [{"seq": seq, "text": text} for seq, text in lines if seq > after][:limit]

    def info(self, id):
        session = self.sessions.get(id)
        fields = "title", "metadata", "created_ms", "updated_ms", "holder"
        return session and {"id": id, **{name: session[name] for name in fields}}

    def set_info(self, lease, info):
        self._held(lease).update(info)

    def list(self, query):
        return {"sessions": [self.info(id) for id in self.sessions], "next": None}

    def delete(self, lease):
        self._held(lease)
        del self.sessions[lease["id"]]


def asynchronous(plain):
    """The same store with async methods."""

    def method(name):
        async def called(self, *arguments):
            return getattr(plain, name)(*arguments)

        return called

    return type("Async", (), {name: method(name) for name in vars(Lists) if not name.startswith("_") and name != "name"})()


def open_store(kind, folder):
    """A store of this kind, as another process would open it."""
    if kind == "custom":
        return Store.custom(Lists())
    if kind == "async":
        return Store.custom(asynchronous(Lists()))
    address = {"sqlite": SQLITE, "jsonl": JSONL, "memory": "memory:"}[kind]
    return Store.open(address.format(folder))
