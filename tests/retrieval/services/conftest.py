from __future__ import annotations

import importlib.util
import shlex
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def sdk_module() -> ModuleType:
    """The server made with the SDK, as a module: its retriever is the one that its tools ask."""
    pytest.importorskip("mcp")
    spec = importlib.util.spec_from_file_location("sdk_server_of_tests", HERE / "sdk_server.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # pydantic looks its annotations up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def sdk_command() -> str:
    return f"mcp:{shlex.join([sys.executable, str(HERE / 'sdk_server.py')])}"


@pytest.fixture
def raw() -> Callable[..., str]:
    """Returns the reference of a server that misbehaves in a certain way."""
    return lambda *words: f"mcp:{shlex.join([sys.executable, '-S', str(HERE / 'raw_server.py'), *map(str, words)])}"


@pytest.fixture(scope="session")
def http_address(sdk_module: Any) -> Iterator[str]:
    """The same tools over streamable HTTP, in this process."""
    import uvicorn

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    app = sdk_module.server.streamable_http_app()
    running = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield f"mcp+http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    running.should_exit = True
    thread.join(10)
    listener.close()
