"""Traces of applications as sessions: OpenTelemetry, and what tools for observing agents export."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
