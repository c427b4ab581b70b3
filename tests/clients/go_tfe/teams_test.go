package go_tfe

import (
	"slices"
	"testing"

	tfe "github.com/hashicorp/go-tfe"
)

func TestATeamIsMadeFoundChangedAndDeleted(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	made := must(client.Teams.Create(ctx, org, tfe.TeamCreateOptions{
		Name:               tfe.String("crew"),
		Visibility:         tfe.String("organization"),
		OrganizationAccess: &tfe.OrganizationAccessOptions{ManageMembership: tfe.Bool(true)},
	}))(t)
	same(t, made.Visibility, "organization")
	same(t, made.OrganizationAccess.ManageMembership, true)
	same(t, made.Permissions.CanDestroy, true)
	same(t, must(client.Teams.Read(ctx, made.ID))(t), made)

	team(t, client, org, "other")
	for _, options := range []tfe.TeamListOptions{
		{Names: []string{"crew"}},
		{Query: "rew"},
		{Names: []string{"crew"}, Include: []tfe.TeamIncludeOpt{tfe.TeamUsers}},
	} {
		listed := must(client.Teams.List(ctx, org, &options))(t)
		same(t, each(listed.Items, nameOfTeam), []string{"crew"})
	}
	changed := must(client.Teams.Update(ctx, made.ID, tfe.TeamUpdateOptions{
		Name:               tfe.String("crowd"),
		Visibility:         tfe.String("secret"),
		OrganizationAccess: &tfe.OrganizationAccessOptions{ManageMembership: tfe.Bool(false)},
	}))(t)
	same(t, []string{changed.Name, changed.Visibility}, []string{"crowd", "secret"})
	same(t, changed.OrganizationAccess.ManageMembership, false)

	done(t, client.Teams.Delete(ctx, made.ID))
	_, err := client.Teams.Read(ctx, made.ID)
	refused(t, err, tfe.ErrResourceNotFound)
}

func TestATeamHasMembersByUsernameAndByMembership(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	crew := team(t, client, org, "crew")
	root := must(client.Users.ReadCurrent(ctx))(t).Username
	email := unique("new") + "@example.com"
	invited := must(client.OrganizationMemberships.Create(ctx, org,
		tfe.OrganizationMembershipCreateOptions{Email: &email}))(t)
	byName := []string{root}
	byMembership := []string{invited.ID}

	done(t, client.TeamMembers.Add(ctx, crew.ID, tfe.TeamMemberAddOptions{Usernames: byName}))
	done(t, client.TeamMembers.Add(ctx, crew.ID,
		tfe.TeamMemberAddOptions{OrganizationMembershipIDs: byMembership}))
	for _, list := range []func() ([]*tfe.User, error){
		func() ([]*tfe.User, error) { return client.TeamMembers.List(ctx, crew.ID) },
		func() ([]*tfe.User, error) { return client.TeamMembers.ListUsers(ctx, crew.ID) },
	} {
		users := each(must(list())(t), func(one *tfe.User) string { return one.Email })
		slices.Sort(users)
		same(t, users, []string{email, "root@example.com"})
	}
	listed := must(client.TeamMembers.ListOrganizationMemberships(ctx, crew.ID))(t)
	same(t, slices.Contains(each(listed, idOfMembership), invited.ID), true)
	same(t, must(client.Teams.Read(ctx, crew.ID))(t).UserCount, 2)

	done(t, client.TeamMembers.Remove(ctx, crew.ID, tfe.TeamMemberRemoveOptions{Usernames: byName}))
	done(t, client.TeamMembers.Remove(ctx, crew.ID,
		tfe.TeamMemberRemoveOptions{OrganizationMembershipIDs: byMembership}))
	same(t, len(must(client.TeamMembers.List(ctx, crew.ID))(t)), 0)
}

func TestATeamHasAccessToAWorkspace(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	crew, network := team(t, client, org, "crew"), workspace(t, client, org, "network")
	made := must(client.TeamAccess.Add(ctx, tfe.TeamAccessAddOptions{
		Access: tfe.Access(tfe.AccessCustom), Team: crew, Workspace: network,
		Variables: tfe.VariablesPermission(tfe.VariablesPermissionRead),
	}))(t)
	same(t, made.Access, tfe.AccessCustom)
	same(t, made.Variables, tfe.VariablesPermissionRead)
	same(t, []string{made.Team.ID, made.Workspace.ID}, []string{crew.ID, network.ID})
	same(t, must(client.TeamAccess.Read(ctx, made.ID))(t), made)

	changed := must(client.TeamAccess.Update(ctx, made.ID, tfe.TeamAccessUpdateOptions{
		Access: tfe.Access(tfe.AccessWrite),
	}))(t)
	same(t, changed.Access, tfe.AccessWrite)
	same(t, changed.Variables, tfe.VariablesPermissionWrite)
	options := &tfe.TeamAccessListOptions{WorkspaceID: network.ID}
	listed := must(client.TeamAccess.List(ctx, options))(t)
	same(t, each(listed.Items, func(one *tfe.TeamAccess) string { return one.ID }), []string{made.ID})

	done(t, client.TeamAccess.Remove(ctx, made.ID))
	_, err := client.TeamAccess.Read(ctx, made.ID)
	refused(t, err, tfe.ErrResourceNotFound)
}

func nameOfTeam(one *tfe.Team) string { return one.Name }
