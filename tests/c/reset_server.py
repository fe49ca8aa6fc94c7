"""A server that resets each connection in the middle of its request: reset_server.py [DIRECTORY]

Prints the ports of plain HTTP and of TLS, the latter 0 without a certificate in DIRECTORY (made there by openssl). Ends when its
standard input ends.
"""

import pathlib
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading

EXTENSIONS = "subjectAltName=DNS:localhost\nbasicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth\n"


def make_certificates(directory: pathlib.Path) -> None:
    """An authority, ca.pem, and a certificate of it for localhost, server.pem with server.key."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    usage = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"]
    whole = ["-x509", "-out", "ca.pem", "-days", "30", *usage]
    openssl("req", *key, "-keyout", "ca.key", "-subj", "/CN=tests of agent-loop", *whole)
    openssl("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
    (directory / "extensions").write_text(EXTENSIONS)
    signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "extensions"]
    openssl("x509", "-req", "-in", "server.csr", *signing, "-out", "server.pem", "-days", "30")


def reset(connection: socket.socket) -> None:
    """Closes a connection so that the client's next bytes are answered with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def serve(listener: socket.socket, tls: ssl.SSLContext | None) -> None:
    while True:
        connection, _ = listener.accept()
        try:
            if tls:
                connection = tls.wrap_socket(connection, server_side=True)
            # The request has begun, and most of it is on its way.
            left = 100_000
            while left > 0 and (chunk := connection.recv(left)):
                left -= len(chunk)
        except OSError:
            pass
        reset(connection)


def main() -> None:
    ports = []
    directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 and shutil.which("openssl") else None
    tls = None
    if directory:
        make_certificates(directory)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(directory / "server.pem", directory / "server.key")
    for context in [None, *([tls] if tls else [])]:
        listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=serve, args=(listener, context), daemon=True).start()
        ports.append(listener.getsockname()[1])
    print(*ports, *([] if tls else [0]), flush=True)
    sys.stdin.read()


main()
