package go_tfe

import (
	"testing"

	tfe "github.com/hashicorp/go-tfe"
)

func TestAVariableSetIsMadeFoundChangedAndDeleted(t *testing.T) {
	client := connect(t, "")
	name := organization(t, client)
	made := must(client.VariableSets.Create(ctx, name, &tfe.VariableSetCreateOptions{
		Name: tfe.String("Cloud account"), Description: tfe.String("For all."),
		Global: tfe.Bool(false), Priority: tfe.Bool(true),
	}))(t)
	same(t, []string{made.Name, made.Description}, []string{"Cloud account", "For all."})
	same(t, []bool{made.Global, made.Priority}, []bool{false, true})
	same(t, made.Organization.Name, name)
	same(t, made.Parent.Organization.Name, name)

	changed := must(client.VariableSets.Update(ctx, made.ID, &tfe.VariableSetUpdateOptions{
		Name: tfe.String("Other"), Global: tfe.Bool(true),
	}))(t)
	same(t, []bool{changed.Name == "Other", changed.Global, changed.Priority}, []bool{true, true, true})
	read := must(client.VariableSets.Read(ctx, made.ID, nil))(t)
	same(t, read.Name, "Other")
	listed := must(client.VariableSets.List(ctx, name, &tfe.VariableSetListOptions{Query: "oth"}))(t)
	same(t, each(listed.Items, nameOfSet), []string{"Other"})

	done(t, client.VariableSets.Delete(ctx, made.ID))
	_, err := client.VariableSets.Read(ctx, made.ID, nil)
	refused(t, err, tfe.ErrResourceNotFound)
}

func TestAVariableSetIsAppliedToWorkspaces(t *testing.T) {
	client := connect(t, "")
	name := organization(t, client)
	network, payments := workspace(t, client, name, "network"), workspace(t, client, name, "payments")
	made := must(client.VariableSets.Create(ctx, name, &tfe.VariableSetCreateOptions{
		Name: tfe.String("shared"), Global: tfe.Bool(false),
	}))(t)
	both := []*tfe.Workspace{network, payments}
	done(t, client.VariableSets.ApplyToWorkspaces(ctx, made.ID,
		&tfe.VariableSetApplyToWorkspacesOptions{Workspaces: both}))
	listed := must(client.VariableSets.ListForWorkspace(ctx, network.ID, nil))(t)
	same(t, each(listed.Items, nameOfSet), []string{"shared"})
	done(t, client.VariableSets.RemoveFromWorkspaces(ctx, made.ID,
		&tfe.VariableSetRemoveFromWorkspacesOptions{Workspaces: both[:1]}))
	same(t, len(must(client.VariableSets.ListForWorkspace(ctx, network.ID, nil))(t).Items), 0)
	updated := must(client.VariableSets.UpdateWorkspaces(ctx, made.ID,
		&tfe.VariableSetUpdateWorkspacesOptions{Workspaces: both[:1]}))(t)
	ids := each(updated.Workspaces, func(one *tfe.Workspace) string { return one.ID })
	same(t, ids, []string{network.ID})
}

func TestAVariableSetIsAppliedToProjects(t *testing.T) {
	client := connect(t, "")
	name := organization(t, client)
	shop := must(client.Projects.Create(ctx, name, tfe.ProjectCreateOptions{Name: "Shop"}))(t)
	made := must(client.VariableSets.Create(ctx, name, &tfe.VariableSetCreateOptions{
		Name: tfe.String("shared"), Global: tfe.Bool(false),
	}))(t)
	its := []*tfe.Project{shop}
	done(t, client.VariableSets.ApplyToProjects(ctx, made.ID,
		tfe.VariableSetApplyToProjectsOptions{Projects: its}))
	listed := must(client.VariableSets.ListForProject(ctx, shop.ID, nil))(t)
	same(t, each(listed.Items, nameOfSet), []string{"shared"})
	read := must(client.VariableSets.Read(ctx, made.ID, nil))(t)
	ids := each(read.Projects, func(one *tfe.Project) string { return one.ID })
	same(t, ids, []string{shop.ID})
	done(t, client.VariableSets.RemoveFromProjects(ctx, made.ID,
		tfe.VariableSetRemoveFromProjectsOptions{Projects: its}))
	same(t, len(must(client.VariableSets.ListForProject(ctx, shop.ID, nil))(t).Items), 0)

	own := must(client.VariableSets.Create(ctx, name, &tfe.VariableSetCreateOptions{
		Name: tfe.String("own"), Global: tfe.Bool(false), Parent: &tfe.Parent{Project: shop},
	}))(t)
	same(t, own.Parent.Project.ID, shop.ID)
}

func TestVariablesOfASetAreMadeFoundChangedAndDeleted(t *testing.T) {
	client := connect(t, "")
	name := organization(t, client)
	network := workspace(t, client, name, "network")
	set := must(client.VariableSets.Create(ctx, name, &tfe.VariableSetCreateOptions{
		Name: tfe.String("shared"), Global: tfe.Bool(true),
	}))(t)
	made := must(client.VariableSetVariables.Create(ctx, set.ID, &tfe.VariableSetVariableCreateOptions{
		Key: tfe.String("region"), Value: tfe.String("eu"), Category: tfe.Category(tfe.CategoryEnv),
	}))(t)
	same(t, []string{made.Key, made.Value, made.VariableSet.ID}, []string{"region", "eu", set.ID})
	changed := must(client.VariableSetVariables.Update(ctx, set.ID, made.ID, &tfe.VariableSetVariableUpdateOptions{
		Value: tfe.String("secret"), Sensitive: tfe.Bool(true),
	}))(t)
	same(t, []string{changed.Value, changed.Key}, []string{"", "region"})
	same(t, must(client.VariableSetVariables.Read(ctx, set.ID, made.ID))(t).Sensitive, true)
	listed := must(client.VariableSetVariables.List(ctx, set.ID, nil))(t)
	same(t, each(listed.Items, func(one *tfe.VariableSetVariable) string { return one.Key }), []string{"region"})
	all := must(client.Variables.ListAll(ctx, network.ID, nil))(t)
	same(t, each(all.Items, func(one *tfe.Variable) string { return one.Key }), []string{"region"})
	same(t, len(must(client.Variables.List(ctx, network.ID, nil))(t).Items), 0)
	done(t, client.VariableSetVariables.Delete(ctx, set.ID, made.ID))
	same(t, len(must(client.VariableSetVariables.List(ctx, set.ID, nil))(t).Items), 0)
}

func nameOfSet(one *tfe.VariableSet) string { return one.Name }
