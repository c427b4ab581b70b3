"""How a command says that it cannot go on."""


class Failure(Exception):
    """Ends the command with an exit code; the text says what is wrong and what to do about it."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code
