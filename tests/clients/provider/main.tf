# Every resource and data source of the tfe provider that has a subject here, each with what can be
# changed of it: `changed` is false at first, and true the second time.

terraform {
  required_providers {
    tfe = { source = "hashicorp/tfe" }
  }
}

variable "changed" {
  type = bool
}

provider "tfe" {
  organization = "acme"
}

# Organizations and people

resource "tfe_organization" "acme" {
  name                    = "acme"
  email                   = var.changed ? "second@example.com" : "first@example.com"
  cost_estimation_enabled = var.changed
  max_ttl_enabled         = true
}

resource "tfe_org_max_token_ttl_policy" "acme" {
  organization       = tfe_organization.acme.name
  org_token_max_ttl  = "2mo"
  team_token_max_ttl = var.changed ? "1mo" : "2mo"
}

resource "tfe_organization_default_settings" "acme" {
  organization           = tfe_organization.acme.name
  default_execution_mode = var.changed ? "local" : "remote"
}

resource "tfe_organization_membership" "dora" {
  organization = tfe_organization.acme.name
  email        = "dora@example.com"
}

# Teams and who is in them

resource "tfe_team" "crew" {
  organization = tfe_organization.acme.name
  name         = var.changed ? "crowd" : "crew"
  visibility   = var.changed ? "organization" : "secret"
  organization_access {
    manage_membership = var.changed
  }
}

resource "tfe_team" "pilots" {
  organization = tfe_organization.acme.name
  name         = "pilots"
}

resource "tfe_team" "guests" {
  organization = tfe_organization.acme.name
  name         = "guests"
}

resource "tfe_team_member" "root" {
  team_id  = tfe_team.crew.id
  username = "root"
}

resource "tfe_team_members" "pilots" {
  team_id   = tfe_team.pilots.id
  usernames = ["root"]
}

resource "tfe_team_organization_member" "dora" {
  team_id                    = tfe_team.crew.id
  organization_membership_id = tfe_organization_membership.dora.id
}

resource "tfe_team_organization_members" "guests" {
  team_id                     = tfe_team.guests.id
  organization_membership_ids = [tfe_organization_membership.dora.id]
}

# Workspaces and their variables

resource "tfe_workspace" "network" {
  organization      = tfe_organization.acme.name
  name              = var.changed ? "net" : "network"
  description       = var.changed ? "What is between." : null
  queue_all_runs    = !var.changed
  terraform_version = "1.11.4"
  trigger_prefixes  = var.changed ? ["modules"] : ["aws", "modules"]
  working_directory = var.changed ? "" : "aws"
  tag_names         = var.changed ? ["eu"] : ["eu", "prod"]
}

resource "tfe_workspace" "labelled" {
  organization = tfe_organization.acme.name
  name         = "labelled"
  tags = {
    region = var.changed ? "us" : "eu"
  }
}

# Projects

resource "tfe_project" "shop" {
  organization = tfe_organization.acme.name
  name         = var.changed ? "Web Shop" : "Shop"
  description  = var.changed ? "What is sold." : ""
  tags = {
    cost = var.changed ? "two" : "one"
  }
}

resource "tfe_project" "store" {
  organization = tfe_organization.acme.name
  name         = "Store"
}

resource "tfe_project_settings" "store" {
  project_id             = tfe_project.store.id
  default_execution_mode = var.changed ? "local" : "remote"
}

resource "tfe_workspace" "till" {
  organization = tfe_organization.acme.name
  name         = "till"
  project_id   = var.changed ? tfe_project.store.id : tfe_project.shop.id
}

resource "tfe_team_project_access" "crew" {
  team_id    = tfe_team.crew.id
  project_id = tfe_project.shop.id
  access     = var.changed ? "maintain" : "read"
}

resource "tfe_team_project_access" "guests" {
  team_id    = tfe_team.guests.id
  project_id = tfe_project.shop.id
  access     = "custom"
  workspace_access {
    runs      = "read"
    variables = var.changed ? "write" : "read"
    locking   = var.changed
  }
}

resource "tfe_workspace_settings" "network" {
  workspace_id   = tfe_workspace.network.id
  execution_mode = var.changed ? "remote" : "local"
  auto_apply     = var.changed
}

resource "tfe_variable" "region" {
  workspace_id = tfe_workspace.network.id
  key          = var.changed ? "area" : "region"
  value        = var.changed ? "us" : "eu"
  category     = "terraform"
  description  = "Where it is."
}

resource "tfe_variable" "subnets" {
  workspace_id = tfe_workspace.network.id
  key          = "subnets"
  value        = var.changed ? "[1, 2]" : "[1]"
  category     = "terraform"
  hcl          = true
}

resource "tfe_variable" "sealed" {
  workspace_id = tfe_workspace.network.id
  key          = "SEALED"
  value        = var.changed ? "two" : "one"
  category     = "env"
  sensitive    = true
}

# Sets of variables, and what they are attached to

resource "tfe_variable_set" "shared" {
  organization = tfe_organization.acme.name
  name         = var.changed ? "common" : "shared"
  description  = var.changed ? "For many." : "For all."
  priority     = var.changed
}

resource "tfe_variable_set" "everywhere" {
  organization = tfe_organization.acme.name
  name         = "everywhere"
  global       = var.changed
}

resource "tfe_variable_set" "shop" {
  organization      = tfe_organization.acme.name
  name              = "shop"
  description       = var.changed ? "For the shop." : ""
  parent_project_id = tfe_project.shop.id
}

resource "tfe_project_variable_set" "shared" {
  variable_set_id = tfe_variable_set.shared.id
  project_id      = var.changed ? tfe_project.store.id : tfe_project.shop.id
}

resource "tfe_workspace_variable_set" "shared" {
  variable_set_id = tfe_variable_set.shared.id
  workspace_id    = tfe_workspace.network.id
}

resource "tfe_variable" "zone" {
  variable_set_id = tfe_variable_set.shared.id
  key             = "zone"
  value           = var.changed ? "b" : "a"
  category        = "env"
}

resource "tfe_variable" "shared" {
  variable_set_id = tfe_variable_set.shared.id
  key             = "SHARED"
  value           = var.changed ? "two" : "one"
  category        = "env"
  sensitive       = true
}

resource "tfe_team_access" "crew" {
  team_id      = tfe_team.crew.id
  workspace_id = tfe_workspace.network.id
  access       = var.changed ? "write" : "read"
}

resource "tfe_team_access" "guests" {
  team_id      = tfe_team.guests.id
  workspace_id = tfe_workspace.network.id
  permissions {
    runs              = "read"
    variables         = var.changed ? "write" : "read"
    state_versions    = "none"
    sentinel_mocks    = "none"
    workspace_locking = var.changed
    run_tasks         = false
  }
}

# Tokens

resource "tfe_organization_token" "acme" {
  organization = tfe_organization.acme.name
}

resource "tfe_team_token" "crew" {
  team_id = tfe_team.crew.id
}

resource "tfe_team_token" "described" {
  team_id     = tfe_team.crew.id
  description = var.changed ? "for the day" : "for the night"
}

# What is read of all that

data "tfe_organization" "acme" {
  name = tfe_organization.acme.name
}

data "tfe_organizations" "all" {
  depends_on = [tfe_organization.acme]
}

data "tfe_organization_membership" "dora" {
  organization = tfe_organization.acme.name
  email        = tfe_organization_membership.dora.email
}

data "tfe_organization_members" "acme" {
  organization = tfe_organization.acme.name
  depends_on   = [tfe_organization_membership.dora]
}

data "tfe_org_max_token_ttl_policy" "acme" {
  organization = tfe_organization.acme.name
  depends_on   = [tfe_org_max_token_ttl_policy.acme]
}

data "tfe_team" "crew" {
  organization = tfe_organization.acme.name
  name         = tfe_team.crew.name
}

data "tfe_teams" "acme" {
  organization = tfe_organization.acme.name
  depends_on   = [tfe_team.crew, tfe_team.pilots, tfe_team.guests]
}

data "tfe_team_access" "crew" {
  team_id      = tfe_team_access.crew.team_id
  workspace_id = tfe_team_access.crew.workspace_id
}

data "tfe_project" "shop" {
  organization = tfe_organization.acme.name
  name         = tfe_project.shop.name
}

data "tfe_projects" "acme" {
  organization = tfe_organization.acme.name
  depends_on   = [tfe_project.shop, tfe_project.store]
}

data "tfe_team_project_access" "crew" {
  team_id    = tfe_team_project_access.crew.team_id
  project_id = tfe_team_project_access.crew.project_id
}

data "tfe_workspace" "network" {
  organization = tfe_organization.acme.name
  name         = tfe_workspace.network.name
}

data "tfe_workspace_ids" "named" {
  organization = tfe_organization.acme.name
  names        = [tfe_workspace.network.name]
}

data "tfe_workspace_ids" "tagged" {
  organization = tfe_organization.acme.name
  tag_names    = ["eu"]
  exclude_tags = ["old"]
  depends_on   = [tfe_workspace.network]
}

data "tfe_workspace_ids" "labelled" {
  organization = tfe_organization.acme.name
  tag_filters {
    include = { region = var.changed ? "us" : "eu" }
  }
  depends_on = [tfe_workspace.labelled]
}

data "tfe_organization_tags" "acme" {
  organization = tfe_organization.acme.name
  depends_on   = [tfe_workspace.network]
}

data "tfe_variables" "network" {
  workspace_id = tfe_workspace.network.id
  depends_on   = [tfe_variable.region, tfe_variable.subnets, tfe_variable.sealed]
}

data "tfe_variable_set" "shared" {
  organization = tfe_organization.acme.name
  name         = tfe_variable_set.shared.name
  depends_on = [
    tfe_workspace_variable_set.shared,
    tfe_project_variable_set.shared,
    tfe_variable.zone,
    tfe_variable.shared,
  ]
}

data "tfe_variables" "shared" {
  variable_set_id = tfe_variable_set.shared.id
  depends_on      = [tfe_variable.zone, tfe_variable.shared]
}
