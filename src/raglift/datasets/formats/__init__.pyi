from .capabilities import Capabilities as Capabilities
from .catalogue import FORMATS as FORMATS
from .catalogue import Format as Format
from .catalogue import FormatName as FormatName
from .catalogue import FormatOptions as FormatOptions
from .catalogue import recognize_format as recognize_format
from .catalogue import write_dataset as write_dataset
