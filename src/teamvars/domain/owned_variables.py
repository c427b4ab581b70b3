"""Variables and what they belong to."""

import msgspec
from msgspec.structs import replace

from teamvars.domain.variable_sets import VariableSet
from teamvars.domain.variables import Variable
from teamvars.domain.workspaces import Workspace

Owner = Workspace | VariableSet
"""What has variables."""


class OwnedVariable(msgspec.Struct, frozen=True):
    """A variable as its readers see it, and what it belongs to."""

    owner: Owner
    variable: Variable

    def without_value(self) -> "OwnedVariable":
        """The same, without the value."""
        return replace(self, variable=self.variable.with_value(None))
