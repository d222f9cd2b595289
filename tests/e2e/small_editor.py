"""An editor that starts the server, opens one file, prints what the server says and then only waits: something to be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any


def main(path: Path) -> None:
    server = subprocess.Popen([sys.executable, "-m", "graphbreak", "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    print(json.dumps({"server": server.pid}), flush=True)

    def send(message: dict[str, Any]) -> None:
        assert server.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        server.stdin.flush()

    folder = {"uri": path.parent.as_uri(), "name": "workspace"}
    options = {"interpreter": sys.executable, "sandbox": {"write": [str(path.parent)]}}
    params = {
        "processId": os.getpid(),
        "rootUri": folder["uri"],
        "workspaceFolders": [folder],
        "capabilities": {},
        "initializationOptions": options,
    }
    send({"id": 1, "method": "initialize", "params": params})
    send({"method": "initialized", "params": {}})
    document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": path.read_text(encoding="utf-8")}
    send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
    threading.Thread(target=server.wait).start()
    while header := server.stdout.readline():
        length = int(header.split(b":")[1])
        while server.stdout.readline().strip():
            pass
        print(server.stdout.read(length).decode(), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
