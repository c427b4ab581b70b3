"""Keys and values that the service accepts, and that a careless writer would come to grief by."""

from teamvars.domain.variables import Variable
from teamvars.kernel.variables import Category

HOSTILE_KEYS = ["$(id)", "a;b", "\u202egnp", "a-b", "1a", "`id`", "a.b", "A[0]", "é'\"", "a$b"]

HOSTILE_VALUES = [
    "",
    " ",
    "  both ends\t",
    "\n",
    "ends with a newline\n\n",
    "\rtwo\r\nlines\n",
    "it's",
    '"quoted"',
    "''\"\"'",
    "\\",
    "a\\",
    "\\\\",
    "a\\'b",
    "\\n\\t\\u0041\\x41",
    "$HOME",
    "${HOME}",
    "$${HOME} %%{if}",
    "%{ if true }x%{ endif }",
    "$",
    "$(id)",
    "`id`",
    "it's $(id) `id` ${HOME} \"\\",
    "# no comment",
    "a #b",
    "!history",
    "a=b",
    "-n",
    "~",
    "*",
    "<<EOT\nx\nEOT\n",
    "\x01\x1b[31m\x7f",
    "\u202eright to left\u2028\u0085",
    "\ufeffmark",
    "e\u0301 é 日本 🎉",
    "null",
    "[1, 2]",
    "'\n\"" * 80_000,
    "x" * 256 * 1024,
]


def variable(
    key: str, value: str | None, category: Category = Category.ENV, *, hcl: bool = False
) -> Variable:
    """A variable as its readers see it."""
    sensitive = value is None
    return Variable("var-1", "ws-1", key, value, "", category, hcl, sensitive, "v1", 0)
