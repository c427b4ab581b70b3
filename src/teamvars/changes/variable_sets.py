"""Variable sets: how decisions about them are fed."""

from teamvars.changes.looks import LookUps, by_fields
from teamvars.decisions.variable_sets import (
    AttachedTo,
    Contested,
    DetailsOfSets,
    GlobalSets,
    HasSensitive,
    Rivals,
    SetsApplicable,
    SetsAt,
    SetsOf,
    SetsReaching,
    SetsSeen,
)
from teamvars.storage import variable_sets

LOOK_UPS: LookUps = {
    SetsOf: by_fields(variable_sets.of_organization),
    SetsSeen: by_fields(variable_sets.find_visible),
    GlobalSets: by_fields(variable_sets.count_global),
    SetsApplicable: by_fields(variable_sets.find_applicable),
    SetsReaching: by_fields(variable_sets.of_workspace),
    DetailsOfSets: by_fields(variable_sets.find_details),
    AttachedTo: by_fields(variable_sets.attached),
    SetsAt: by_fields(variable_sets.count_at),
    HasSensitive: by_fields(variable_sets.has_sensitive),
    Contested: by_fields(variable_sets.contested),
    Rivals: by_fields(variable_sets.rivals),
}
