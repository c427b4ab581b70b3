package go_tfe

import (
	"testing"

	tfe "github.com/hashicorp/go-tfe"
)

func TestWorkspacesAreFoundByTheirTags(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	live := must(client.Workspaces.Create(ctx, org, tfe.WorkspaceCreateOptions{
		Name:        tfe.String("live"),
		Tags:        []*tfe.Tag{{Name: "app"}},
		TagBindings: []*tfe.TagBinding{{Key: "env", Value: "live"}, {Key: "only"}},
	}))(t)
	same(t, live.TagNames, []string{"app"})
	plain := must(client.Workspaces.Create(ctx, org, tfe.WorkspaceCreateOptions{
		Name: tfe.String("plain"),
	}))(t)

	for _, wanted := range []tfe.WorkspaceListOptions{
		{Tags: "app"},
		{Tags: "env,only"},
		{TagBindings: []*tfe.TagBinding{{Key: "env", Value: "live"}, {Key: "only"}}},
	} {
		wanted.Include = []tfe.WSIncludeOpt{tfe.WSEffectiveTagBindings}
		listed := must(client.Workspaces.List(ctx, org, &wanted))(t)
		same(t, len(listed.Items), 1)
		same(t, listed.Items[0].ID, live.ID)
		same(t, listed.Items[0].EffectiveTagBindings[0].Value, "live")
	}
	without := must(client.Workspaces.List(ctx, org, &tfe.WorkspaceListOptions{
		ExcludeTags: "app", Sort: "-name",
	}))(t)
	same(t, len(without.Items), 1)
	same(t, without.Items[0].ID, plain.ID)
}

func TestTagsOfAWorkspaceAreAddedAndRemoved(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	id := must(client.Workspaces.Create(ctx, org, tfe.WorkspaceCreateOptions{
		Name: tfe.String("network"),
	}))(t).ID
	done(t, client.Workspaces.AddTags(ctx, id, tfe.WorkspaceAddTagsOptions{
		Tags: []*tfe.Tag{{Name: "app"}, {Name: "web"}},
	}))
	there := must(client.Workspaces.ListTags(ctx, id, &tfe.WorkspaceTagListOptions{
		Query: tfe.String("eb"),
	}))(t)
	same(t, len(there.Items), 1)
	same(t, there.Items[0].Name, "web")
	done(t, client.Workspaces.RemoveTags(ctx, id, tfe.WorkspaceRemoveTagsOptions{
		Tags: []*tfe.Tag{{ID: there.Items[0].ID}},
	}))
	same(t, must(client.Workspaces.ReadByID(ctx, id))(t).TagNames, []string{"app"})

	bound := must(client.Workspaces.AddTagBindings(ctx, id, tfe.WorkspaceAddTagBindingsOptions{
		TagBindings: []*tfe.TagBinding{{Key: "env", Value: "live"}},
	}))(t)
	same(t, bound[0].Value, "live")
	same(t, must(client.Workspaces.ListTagBindings(ctx, id))(t)[0].Key, "env")
	same(t, must(client.Workspaces.ListEffectiveTagBindings(ctx, id))(t)[0].Key, "env")
	done(t, client.Workspaces.DeleteAllTagBindings(ctx, id))
	same(t, len(must(client.Workspaces.ListTagBindings(ctx, id))(t)), 0)
}

func TestAnOrganizationHasTheTagsOfItsWorkspaces(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	var ids []string
	for _, name := range []string{"network", "payments"} {
		made := must(client.Workspaces.Create(ctx, org, tfe.WorkspaceCreateOptions{
			Name: tfe.String(name),
		}))(t)
		ids = append(ids, made.ID)
	}
	done(t, client.Workspaces.AddTags(ctx, ids[0], tfe.WorkspaceAddTagsOptions{
		Tags: []*tfe.Tag{{Name: "app"}},
	}))
	tag := must(client.OrganizationTags.List(ctx, org, nil))(t).Items[0]
	same(t, tag.InstanceCount, 1)
	done(t, client.OrganizationTags.AddWorkspaces(ctx, tag.ID, tfe.AddWorkspacesToTagOptions{
		WorkspaceIDs: ids,
	}))
	tag = must(client.OrganizationTags.List(ctx, org, &tfe.OrganizationTagsListOptions{
		Query: "ap",
	}))(t).Items[0]
	same(t, tag.InstanceCount, 2)
	done(t, client.OrganizationTags.Delete(ctx, org, tfe.OrganizationTagsDeleteOptions{
		IDs: []string{tag.ID},
	}))
	same(t, len(must(client.OrganizationTags.List(ctx, org, nil))(t).Items), 0)
}
