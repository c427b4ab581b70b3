package go_tfe

import (
	"slices"
	"testing"

	tfe "github.com/hashicorp/go-tfe"
)

func TestAWorkspaceIsMadeFoundChangedAndDeleted(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	made := must(client.Workspaces.Create(ctx, org, tfe.WorkspaceCreateOptions{
		Name:             tfe.String("network"),
		Description:      tfe.String("What is between."),
		AutoApply:        tfe.Bool(true),
		ExecutionMode:    tfe.String("local"),
		TerraformVersion: tfe.String("1.11.4"),
		WorkingDirectory: tfe.String("aws"),
		TriggerPrefixes:  []string{"aws", "modules"},
	}))(t)
	same(t, must(client.Workspaces.Read(ctx, org, "network"))(t), made)
	same(t, must(client.Workspaces.ReadByID(ctx, made.ID))(t), made)
	same(t, made.Description, "What is between.")
	same(t, []string{made.ExecutionMode, made.WorkingDirectory}, []string{"local", "aws"})
	same(t, made.TriggerPrefixes, []string{"aws", "modules"})

	include := &tfe.WorkspaceReadOptions{Include: []tfe.WSIncludeOpt{tfe.WSOrganization}}
	for _, read := range []*tfe.Workspace{
		must(client.Workspaces.ReadWithOptions(ctx, org, "network", include))(t),
		must(client.Workspaces.ReadByIDWithOptions(ctx, made.ID, include))(t),
	} {
		same(t, read.Organization.Name, org)
		same(t, read.Organization.Email, "root@example.com")
	}
	changed := must(client.Workspaces.Update(ctx, org, "network", tfe.WorkspaceUpdateOptions{
		Name: tfe.String("net"), ExecutionMode: tfe.String("remote"),
	}))(t)
	same(t, []string{changed.Name, changed.ExecutionMode}, []string{"net", "remote"})
	byID := tfe.WorkspaceUpdateOptions{QueueAllRuns: tfe.Bool(true), Description: tfe.String("")}
	changed = must(client.Workspaces.UpdateByID(ctx, made.ID, byID))(t)
	same(t, changed.QueueAllRuns, true)
	same(t, changed.Description, "")

	done(t, client.Workspaces.Delete(ctx, org, "net"))
	_, err := client.Workspaces.ReadByID(ctx, made.ID)
	refused(t, err, tfe.ErrResourceNotFound)
}

func TestWorkspacesAreDeletedByIDAndSafely(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	one, two := workspace(t, client, org, "one"), workspace(t, client, org, "two")
	workspace(t, client, org, "three")
	done(t, client.Workspaces.DeleteByID(ctx, one.ID))
	done(t, client.Workspaces.SafeDeleteByID(ctx, two.ID))
	done(t, client.Workspaces.SafeDelete(ctx, org, "three"))
	same(t, must(client.Workspaces.List(ctx, org, nil))(t).TotalCount, 0)
}

func TestWorkspacesAreFoundPageByPage(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	for _, name := range []string{"net-a", "net-b", "pay"} {
		workspace(t, client, org, name)
	}
	first := tfe.ListOptions{PageNumber: 1, PageSize: 2}
	page := must(client.Workspaces.List(ctx, org, &tfe.WorkspaceListOptions{ListOptions: first}))(t)
	same(t, []int{len(page.Items), page.TotalPages, page.TotalCount, page.NextPage}, []int{2, 2, 3, 2})
	for _, options := range []tfe.WorkspaceListOptions{
		{Search: "net"},
		{WildcardName: "net-*"},
	} {
		listed := must(client.Workspaces.List(ctx, org, &options))(t)
		found := each(listed.Items, nameOfWorkspace)
		slices.Sort(found)
		same(t, found, []string{"net-a", "net-b"})
	}
}

func TestALockIsItsHoldersUntilSomebodyForcesIt(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	network := workspace(t, client, org, "network")
	other := connect(t, must(client.OrganizationTokens.Create(ctx, org))(t).Token)

	reason := tfe.WorkspaceLockOptions{Reason: tfe.String("I am at it.")}
	same(t, must(client.Workspaces.Lock(ctx, network.ID, reason))(t).Locked, true)
	for _, who := range []*tfe.Client{client, other} {
		_, err := who.Workspaces.Lock(ctx, network.ID, reason)
		refused(t, err, tfe.ErrWorkspaceLocked)
	}
	_, err := other.Workspaces.Unlock(ctx, network.ID)
	refused(t, err, tfe.ErrWorkspaceLockedByUser)
	refused(t, client.Workspaces.SafeDeleteByID(ctx, network.ID), tfe.ErrWorkspaceLockedCannotDelete)
	same(t, must(client.Workspaces.Unlock(ctx, network.ID))(t).Locked, false)
	_, err = client.Workspaces.Unlock(ctx, network.ID)
	refused(t, err, tfe.ErrWorkspaceNotLocked)

	must(client.Workspaces.Lock(ctx, network.ID, reason))(t)
	same(t, must(client.Workspaces.ForceUnlock(ctx, network.ID))(t).Locked, false)
}

func nameOfWorkspace(one *tfe.Workspace) string { return one.Name }
