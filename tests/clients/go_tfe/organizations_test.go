package go_tfe

import (
	"testing"

	tfe "github.com/hashicorp/go-tfe"
)

func TestAnOrganizationIsMadeFoundChangedAndDeleted(t *testing.T) {
	client := connect(t, "")
	name, renamed := unique("org"), unique("org")
	made := must(client.Organizations.Create(ctx, tfe.OrganizationCreateOptions{
		Name: &name, Email: tfe.String("first@example.com"),
	}))(t)
	same(t, made.Name, name)
	same(t, made.Email, "first@example.com")
	same(t, made.Permissions.CanDestroy, true)

	read := must(client.Organizations.Read(ctx, name))(t)
	same(t, read, made)
	options := tfe.OrganizationReadOptions{}
	same(t, must(client.Organizations.ReadWithOptions(ctx, name, options))(t), made)
	found := must(client.Organizations.List(ctx, &tfe.OrganizationListOptions{Query: name}))(t)
	same(t, each(found.Items, nameOfOrganization), []string{name})
	entitlements := must(client.Organizations.ReadEntitlements(ctx, name))(t)
	same(t, []bool{entitlements.Operations, entitlements.Teams}, []bool{true, true})

	changed := must(client.Organizations.Update(ctx, name, tfe.OrganizationUpdateOptions{
		Name: &renamed, Email: tfe.String("second@example.com"),
	}))(t)
	same(t, []string{changed.Name, changed.Email}, []string{renamed, "second@example.com"})

	done(t, client.Organizations.Delete(ctx, renamed))
	_, err := client.Organizations.Read(ctx, renamed)
	refused(t, err, tfe.ErrResourceNotFound)
	refused(t, client.Organizations.Delete(ctx, renamed), tfe.ErrResourceNotFound)
}

func TestPeopleAreInvitedFoundAndRemoved(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	crew := team(t, client, org, "crew")
	email := unique("new") + "@example.com"
	invited := must(client.OrganizationMemberships.Create(ctx, org,
		tfe.OrganizationMembershipCreateOptions{Email: &email, Teams: []*tfe.Team{crew}}))(t)
	same(t, invited.Status, tfe.OrganizationMembershipInvited)
	same(t, invited.Email, email)

	include := []tfe.OrgMembershipIncludeOpt{tfe.OrgMembershipUser, tfe.OrgMembershipTeam}
	read := must(client.OrganizationMemberships.ReadWithOptions(ctx, invited.ID,
		tfe.OrganizationMembershipReadOptions{Include: include}))(t)
	same(t, read.User.Email, email)
	same(t, each(read.Teams, nameOfTeam), []string{"crew"})
	same(t, must(client.OrganizationMemberships.Read(ctx, invited.ID))(t).Organization.Name, org)

	for _, options := range []tfe.OrganizationMembershipListOptions{
		{Emails: []string{email}, Include: include},
		{Status: tfe.OrganizationMembershipInvited},
		{Query: email},
	} {
		listed := must(client.OrganizationMemberships.List(ctx, org, &options))(t)
		same(t, each(listed.Items, idOfMembership), []string{invited.ID})
		same(t, listed.TotalCount, 1)
	}
	done(t, client.OrganizationMemberships.Delete(ctx, invited.ID))
	_, err := client.OrganizationMemberships.Read(ctx, invited.ID)
	refused(t, err, tfe.ErrResourceNotFound)
}

func nameOfOrganization(one *tfe.Organization) string       { return one.Name }
func idOfMembership(one *tfe.OrganizationMembership) string { return one.ID }
