"""Variables and what they belong to."""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from teamvars.domain.variable_sets import VariableSet
from teamvars.domain.variables import Variable
from teamvars.domain.workspaces import Quota, Workspace

Owner = Workspace | VariableSet
"""What has variables."""
Quotas = Mapping[type[Owner], Quota]
"""What each kind of them may hold."""


class OwnedVariable(msgspec.Struct, frozen=True):
    """A variable as its readers see it, and what it belongs to."""

    owner: Owner
    variable: Variable

    def without_value(self) -> "OwnedVariable":
        """The same, without the value."""
        return replace(self, variable=self.variable.with_value(None))
