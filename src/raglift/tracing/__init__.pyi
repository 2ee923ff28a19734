from .decoding import SpanColumns as SpanColumns
from .reading import read_traces as read_traces
from .receiver import TraceReceiver as TraceReceiver
from .records import REASONS as REASONS
from .records import ImportedTrace as ImportedTrace
from .records import TraceImport as TraceImport
