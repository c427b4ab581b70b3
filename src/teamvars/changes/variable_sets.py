"""Variable sets: how decisions about them are fed."""

from teamvars.changes.looks import LookUps, by_fields
from teamvars.decisions.needs import SetsIn
from teamvars.decisions.set_reach import (
    HasSensitive,
    InWhich,
    PlacesOf,
    SetsAttached,
    SetsOfProjects,
)
from teamvars.decisions.variable_sets import (
    AttachedTo,
    Contested,
    DetailsOfSets,
    GlobalSets,
    LevelsOfSets,
    Rivals,
    SetsApplicable,
    SetsAt,
    SetsOf,
    SetsReaching,
    SetsSeen,
)
from teamvars.storage import project_grants, projects, variable_sets

LOOK_UPS: LookUps = {
    SetsIn: by_fields(variable_sets.count_of_project),
    SetsOf: by_fields(variable_sets.of_organization),
    SetsSeen: by_fields(variable_sets.find_visible),
    GlobalSets: by_fields(variable_sets.count_global),
    SetsApplicable: by_fields(variable_sets.find_applicable),
    SetsReaching: by_fields(variable_sets.of_workspace),
    DetailsOfSets: by_fields(variable_sets.find_details),
    AttachedTo: by_fields(variable_sets.attached),
    SetsAt: by_fields(variable_sets.count_at),
    HasSensitive: by_fields(variable_sets.has_sensitive),
    InWhich: by_fields(variable_sets.in_which),
    PlacesOf: by_fields(projects.places),
    SetsAttached: by_fields(variable_sets.attached_to),
    SetsOfProjects: by_fields(variable_sets.of_projects),
    LevelsOfSets: by_fields(project_grants.levels_of_sets),
    Contested: by_fields(variable_sets.contested),
    Rivals: by_fields(variable_sets.rivals),
}
