#!/usr/bin/env python3
"""Serve a model file with llama.cpp's own server on the loopback address, until standard input closes.

    serve.py MODEL.gguf [PORT]        (needs requirements.txt; without PORT a free one is taken)

Prints its address on one line as soon as it answers. SIGTERM and Ctrl-C stop it too.
"""
import signal
import sys
import time
import urllib.error
import urllib.request

import xllamacpp

READY_SECONDS = 60


def start(model, port):
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {"tiny"}  # the model's name in answers, instead of the path of its file
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.use_jinja = True  # without it there are no tool calls
    params.n_ctx = 8192
    params.n_parallel = 1
    params.cpuparams.n_threads = 1  # the model is so small that threads would only wait for one another
    return xllamacpp.Server(params)


def wait_until_healthy(address):
    """The server answers 503 while it loads its model; whoever reads the address may count on answers."""
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            with urllib.request.urlopen(address + "/health", timeout=5):
                return
        except (urllib.error.URLError, OSError) as problem:
            if time.monotonic() > deadline:
                raise SystemExit(f"serve.py: {address} does not answer after {READY_SECONDS} s: {problem}") from problem
            time.sleep(0.02)


def stop(_signal, _frame):
    raise SystemExit(0)


def main(arguments):
    if len(arguments) not in (1, 2) or not all(port.isdecimal() for port in arguments[1:]):
        raise SystemExit("usage: serve.py MODEL.gguf [PORT]")
    server = start(arguments[0], int(arguments[1]) if len(arguments) == 2 else 0)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    address = server.listening_address.rstrip("/")
    wait_until_healthy(address)
    print(address, flush=True)
    while sys.stdin.buffer.read1(65536):
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
