"""An MCP server of plain Python, which starts at once and misbehaves as its first argument says."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}, "k": {"type": "integer"}}}
PAGES = 3


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def answer(request: dict[str, object], result: object) -> None:
    say(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}))


def tool(name: str) -> dict[str, object]:
    return {"name": name, "description": f"Does {name}.", "inputSchema": {**SCHEMA, "required": ["query"]}}


def listed(mode: str, cursor: str | None) -> dict[str, object]:
    if mode == "pages":
        page = int(cursor or 0)
        tools = [tool(f"tool_{page}_{number}") for number in range(3)] + ([tool("search")] if page == PAGES - 1 else [])
        return {"tools": tools, **({"nextCursor": str(page + 1)} if page < PAGES - 1 else {})}
    if mode == "no tools":
        return {"tools": []}
    if mode == "two searches":
        return {"tools": [tool("search_notes"), tool("findNotes"), tool("delete_notes")]}
    return {"tools": [tool("search")]}


def called(mode: str, request: dict[str, object]) -> None:
    query = request["params"]["arguments"]["query"]  # type: ignore[index]
    if mode == "dies" or (mode == "dies once" and query == "die" and not Path(sys.argv[2]).exists()):
        if mode == "dies once":
            Path(sys.argv[2]).touch()
        sys.stderr.write("Segmentation fault, with hush-hush-4711\n")
        sys.stderr.flush()
        os._exit(7)
    if mode == "hangs" or (mode == "hangs once" and query == "hang"):
        time.sleep(60)
    if mode == "other result":
        answer(request, {"content": "no list"})
        return
    text = json.dumps([{"text": f"{query} {number}", "id": number} for number in range(3)])
    if mode == "ids":
        text = json.dumps({"took": 3, "rows": [{"key": 4711}]})
    answer(request, {"content": [{"type": "text", "text": text}]})


def main() -> None:
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    if mode == "dies at start":
        sys.exit("cannot open the index: hush-hush-4711")
    if mode == "says nothing":
        say("ready!")
        time.sleep(60)
    if mode == "stays":
        with Path(sys.argv[2]).open("a") as pids:
            pids.write(f"{os.getpid()}\n")
    for line in sys.stdin:
        request = json.loads(line)
        method = request.get("method")
        if method == "initialize":
            info = {"name": "raw", "version": "1"}
            version = request["params"]["protocolVersion"]
            answer(request, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
        elif method == "tools/list":
            answer(request, listed(mode, (request.get("params") or {}).get("cursor")))
        elif method == "tools/call":
            called(mode, request)
        elif "id" in request:
            error = {"code": -32601, "message": "Method not found"}
            say(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}))
    if mode == "stays":
        time.sleep(60)


main()
