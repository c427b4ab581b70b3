"""What decoding a document costs with each parser: `.venv/bin/python -m bench.json_parsers`.

The figures behind docs/decisions/002-json-parser.md; `--quick` decodes each document once.
"""

import argparse
import json
import sys
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from teamvars.web.http import json_body
from teamvars.web.variables.requests import NewVariableDocument
from tests.support.tenant import variable_document

ROUNDS = 2000


def main() -> int:
    """Prints µs for each parser and document."""
    parser = argparse.ArgumentParser(prog="bench.json_parsers")
    parser.add_argument("--quick", action="store_true", help="each document once")
    most, repeats = (1, 1) if parser.parse_args().quick else (ROUNDS, 5)
    documents: dict[str, Any] = {
        "a variable of 20 bytes": variable_document(value="x" * 20),
        "a variable of 256 KiB": variable_document(value="x" * 256 * 1024),
        "1,000 members": {"data": [{"type": "users", "id": f"user-{n:016}"} for n in range(1000)]},
    }
    typed = msgspec.json.Decoder(NewVariableDocument)
    for what, document in documents.items():
        body = json.dumps(document).encode()
        parsers: dict[str, Callable[[bytes], object]] = {
            "json_body.parse": json_body.parse,
            "json.loads": json.loads,
            "msgspec, untyped": msgspec.json.decode,
        }
        if "variable" in what:
            parsers["msgspec, typed"] = typed.decode
        for name, parse in parsers.items():
            rounds = most if len(body) < 1000 else max(1, most // 20)
            seconds = min(timeit.repeat(partial(parse, body), number=rounds, repeat=repeats))
            print(f"{what:<24}{name:<18}{seconds / rounds * 1e6:9.1f} µs")
    print("msgspec of a member twice: ", msgspec.json.decode(b'{"a": 1, "a": 2}'))
    return 0


if __name__ == "__main__":
    sys.exit(main())
