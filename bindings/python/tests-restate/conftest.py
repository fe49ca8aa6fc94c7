import json
import subprocess

import pytest
from on_restate import Server
from script import SCRIPT

from mock import program


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("restate")
    script = folder / "script.json"
    script.write_text(json.dumps({"answers": SCRIPT}))
    with subprocess.Popen([program(), script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as mock:
        try:
            yield Server(folder, mock.stdout.readline().strip())
        finally:
            mock.stdin.close()


@pytest.fixture
def worker(server):
    server.forget()
    with server.worker():
        yield server
