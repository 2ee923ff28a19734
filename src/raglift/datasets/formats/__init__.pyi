from .catalogue import FORMATS as FORMATS
from .catalogue import Format as Format
from .catalogue import FormatName as FormatName
from .catalogue import FormatOptions as FormatOptions
from .catalogue import recognize_format as recognize_format
from .writing import WrittenFormat as WrittenFormat
from .writing import write_dataset as write_dataset
