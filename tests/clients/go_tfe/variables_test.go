package go_tfe

import (
	"slices"
	"testing"

	tfe "github.com/hashicorp/go-tfe"
)

func TestAVariableIsMadeFoundChangedAndDeleted(t *testing.T) {
	client := connect(t, "")
	network := workspace(t, client, organization(t, client), "network")
	made := must(client.Variables.Create(ctx, network.ID, tfe.VariableCreateOptions{
		Key: tfe.String("region"), Value: tfe.String("eu"), Description: tfe.String("Where."),
		Category: tfe.Category(tfe.CategoryTerraform),
	}))(t)
	same(t, []string{made.Key, made.Value, made.Description}, []string{"region", "eu", "Where."})
	same(t, made.Workspace.ID, network.ID)
	same(t, must(client.Variables.Read(ctx, network.ID, made.ID))(t), made)

	changed := must(client.Variables.Update(ctx, network.ID, made.ID, tfe.VariableUpdateOptions{
		Value: tfe.String(`["eu", "us"]`), HCL: tfe.Bool(true),
	}))(t)
	same(t, changed.Value, `["eu", "us"]`)
	same(t, changed.HCL, true)
	same(t, changed.VersionID == made.VersionID, false)

	done(t, client.Variables.Delete(ctx, network.ID, made.ID))
	_, err := client.Variables.Read(ctx, network.ID, made.ID)
	refused(t, err, tfe.ErrResourceNotFound)
}

func TestASensitiveValueIsNeverRead(t *testing.T) {
	client := connect(t, "")
	network := workspace(t, client, organization(t, client), "network")
	made := must(client.Variables.Create(ctx, network.ID, tfe.VariableCreateOptions{
		Key: tfe.String("PASSWORD"), Value: tfe.String("hunter2"), Sensitive: tfe.Bool(true),
		Category: tfe.Category(tfe.CategoryEnv),
	}))(t)
	same(t, made.Sensitive, true)
	for _, listed := range []*tfe.VariableList{
		must(client.Variables.List(ctx, network.ID, nil))(t),
		must(client.Variables.ListAll(ctx, network.ID, nil))(t),
	} {
		values := each(listed.Items, func(one *tfe.Variable) string { return one.Value })
		same(t, values, []string{""})
	}
}

func TestVariablesAreListed(t *testing.T) {
	client := connect(t, "")
	network := workspace(t, client, organization(t, client), "network")
	keys := []string{"a", "b", "c"}
	for _, key := range keys {
		must(client.Variables.Create(ctx, network.ID, tfe.VariableCreateOptions{
			Key: &key, Category: tfe.Category(tfe.CategoryTerraform),
		}))(t)
	}
	for _, listed := range []*tfe.VariableList{
		must(client.Variables.List(ctx, network.ID, nil))(t),
		must(client.Variables.ListAll(ctx, network.ID, nil))(t),
	} {
		found := each(listed.Items, func(one *tfe.Variable) string { return one.Key })
		slices.Sort(found)
		same(t, found, keys)
	}
}
