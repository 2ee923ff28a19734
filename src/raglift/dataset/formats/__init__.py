"""Labels in other people's formats: one module for each, read and written."""

from raglift.dataset.formats.catalogue import (
    FORMATS,
    Format,
    FormatName,
    FormatOptions,
    find_format,
    read_format,
    recognize_format,
)
from raglift.dataset.formats.writing import write_dataset

__all__ = [
    "FORMATS",
    "Format",
    "FormatName",
    "FormatOptions",
    "find_format",
    "read_format",
    "recognize_format",
    "write_dataset",
]
