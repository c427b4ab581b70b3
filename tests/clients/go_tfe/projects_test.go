package go_tfe

import (
	"testing"

	tfe "github.com/hashicorp/go-tfe"
)

func TestAProjectIsMadeChangedAndDeleted(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	made := must(client.Projects.Create(ctx, org, tfe.ProjectCreateOptions{
		Name: "Shop", Description: tfe.String("what is sold"),
		TagBindings: []*tfe.TagBinding{{Key: "cost", Value: "one"}},
	}))(t)
	same(t, []string{made.Name, made.Description}, []string{"Shop", "what is sold"})
	same(t, made.Organization.Name, org)
	network := must(client.Workspaces.Create(ctx, org, tfe.WorkspaceCreateOptions{
		Name: tfe.String("network"), Project: made,
	}))(t)
	same(t, network.Project.ID, made.ID)

	changed := must(client.Projects.Update(ctx, made.ID, tfe.ProjectUpdateOptions{
		Name: tfe.String("Store"),
	}))(t)
	same(t, []string{changed.Name, changed.Description}, []string{"Store", "what is sold"})
	same(t, must(client.Projects.Read(ctx, made.ID))(t).Name, "Store")
	for _, wanted := range []tfe.ProjectListOptions{
		{Name: "Store"},
		{Query: "tor"},
		{TagBindings: []*tfe.TagBinding{{Key: "cost"}}},
	} {
		listed := must(client.Projects.List(ctx, org, &wanted))(t)
		same(t, each(listed.Items, func(one *tfe.Project) string { return one.ID }), []string{made.ID})
	}
	same(t, len(must(client.Projects.List(ctx, org, nil))(t).Items), 2) // one is the default project

	done(t, client.Workspaces.DeleteByID(ctx, network.ID))
	done(t, client.Projects.Delete(ctx, made.ID))
	_, err := client.Projects.Read(ctx, made.ID)
	refused(t, err, tfe.ErrResourceNotFound)
}

func TestTagsOfAProjectAreInherited(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	shop := must(client.Projects.Create(ctx, org, tfe.ProjectCreateOptions{Name: "Shop"}))(t)
	network := must(client.Workspaces.Create(ctx, org, tfe.WorkspaceCreateOptions{
		Name: tfe.String("network"), Project: shop,
	}))(t)
	bound := must(client.Projects.AddTagBindings(ctx, shop.ID, tfe.ProjectAddTagBindingsOptions{
		TagBindings: []*tfe.TagBinding{{Key: "cost", Value: "one"}},
	}))(t)
	same(t, bound[0].Value, "one")
	same(t, must(client.Projects.ListTagBindings(ctx, shop.ID))(t)[0].Key, "cost")
	same(t, must(client.Projects.ListEffectiveTagBindings(ctx, shop.ID))(t)[0].Value, "one")
	same(t, must(client.Workspaces.ListEffectiveTagBindings(ctx, network.ID))(t)[0].Value, "one")
	read := must(client.Projects.ReadWithOptions(ctx, shop.ID, tfe.ProjectReadOptions{
		Include: []tfe.ProjectIncludeOpt{tfe.ProjectEffectiveTagBindings},
	}))(t)
	same(t, read.EffectiveTagBindings[0].Value, "one")
	done(t, client.Projects.DeleteAllTagBindings(ctx, shop.ID))
	same(t, len(must(client.Projects.ListTagBindings(ctx, shop.ID))(t)), 0)
}

func TestATeamHasAccessToAProject(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	crew := team(t, client, org, "crew")
	shop := must(client.Projects.Create(ctx, org, tfe.ProjectCreateOptions{Name: "Shop"}))(t)
	made := must(client.TeamProjectAccess.Add(ctx, tfe.TeamProjectAccessAddOptions{
		Access: tfe.TeamProjectAccessCustom, Team: crew, Project: shop,
		WorkspaceAccess: &tfe.TeamProjectAccessWorkspacePermissionsOptions{
			Variables: tfe.WorkspaceVariablesPermission(tfe.WorkspaceVariablesPermissionRead),
		},
	}))(t)
	same(t, made.WorkspaceAccess.WorkspaceVariablesPermission, tfe.WorkspaceVariablesPermissionRead)
	same(t, []string{made.Team.ID, made.Project.ID}, []string{crew.ID, shop.ID})
	same(t, must(client.TeamProjectAccess.Read(ctx, made.ID))(t), made)

	changed := must(client.TeamProjectAccess.Update(ctx, made.ID, tfe.TeamProjectAccessUpdateOptions{
		Access: tfe.ProjectAccess(tfe.TeamProjectAccessMaintain),
	}))(t)
	same(t, changed.Access, tfe.TeamProjectAccessMaintain)
	options := tfe.TeamProjectAccessListOptions{ProjectID: shop.ID}
	listed := must(client.TeamProjectAccess.List(ctx, options))(t)
	same(t, each(listed.Items, idOfAccess), []string{made.ID})

	done(t, client.TeamProjectAccess.Remove(ctx, made.ID))
	_, err := client.TeamProjectAccess.Read(ctx, made.ID)
	refused(t, err, tfe.ErrResourceNotFound)
}

func idOfAccess(one *tfe.TeamProjectAccess) string { return one.ID }
