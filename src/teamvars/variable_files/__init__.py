"""Files of variables, as people keep them: read into what they define, and written.

Pure: nothing here knows the service, and no fault quotes the file.
"""

from teamvars.variable_files.findings import MAX_FAULTS, MAX_NAMES, FileFault, Item, ParsedFile
from teamvars.variable_files.parsing import Format, parse

__all__ = ["MAX_FAULTS", "MAX_NAMES", "FileFault", "Format", "Item", "ParsedFile", "parse"]
