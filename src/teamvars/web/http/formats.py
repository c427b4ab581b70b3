"""How strings of answers and requests are written, as the OpenAPI document says it.

For those who read documents: the rules that count are in the domain.
"""

from typing import Annotated

from msgspec import Meta

Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
# A path of this service, which may stand behind any host.
Path = Annotated[str, Meta(extra_json_schema={"format": "uri-reference"})]
# With letters of every script: JSON Schema's `email` has ASCII alone.
Email = Annotated[str, Meta(extra_json_schema={"format": "idn-email"})]
