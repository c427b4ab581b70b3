"""Where an error came from: all that a log line or a command says of one that nobody expected."""

import traceback
from pathlib import Path


def origin(error: BaseException) -> str:
    """Kind and place of an error. Its text and its locals could hold a value, so neither is shown,
    and neither is a stack trace (contract §3)."""
    frames = traceback.extract_tb(error.__traceback__)
    package = str(Path(__file__).parent)
    ours = [frame for frame in frames if frame.filename.startswith(package)] or frames
    if not ours:
        return type(error).__name__
    last = ours[-1]
    place = "/".join(Path(last.filename).parts[-2:])
    return f"{type(error).__name__} in {place}:{last.lineno}, {last.name}"
