package go_tfe

import (
	"strings"
	"testing"
	"time"

	tfe "github.com/hashicorp/go-tfe"
)

func TestAnOrganizationHasATokenUntilItIsDeleted(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	first := must(client.OrganizationTokens.Create(ctx, org))(t)
	same(t, worksFor(t, first.Token, org), true)

	ends := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	options := tfe.OrganizationTokenCreateOptions{ExpiredAt: &ends}
	second := must(client.OrganizationTokens.CreateWithOptions(ctx, org, options))(t)
	same(t, second.ExpiredAt.UTC(), ends)
	same(t, worksFor(t, first.Token, org), false)
	same(t, must(client.OrganizationTokens.Read(ctx, org))(t).ID, second.ID)

	done(t, client.OrganizationTokens.Delete(ctx, org))
	_, err := client.OrganizationTokens.Read(ctx, org)
	refused(t, err, tfe.ErrResourceNotFound)
	same(t, worksFor(t, second.Token, org), false)
}

func TestATeamHasATokenUntilItIsDeleted(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	crew := team(t, client, org, "crew")
	first := must(client.TeamTokens.Create(ctx, crew.ID))(t)
	same(t, worksFor(t, first.Token, org), true)

	ends := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	options := tfe.TeamTokenCreateOptions{ExpiredAt: &ends}
	second := must(client.TeamTokens.CreateWithOptions(ctx, crew.ID, options))(t)
	same(t, second.ExpiredAt.UTC(), ends)
	same(t, must(client.TeamTokens.Read(ctx, crew.ID))(t).ID, second.ID)
	same(t, must(client.TeamTokens.ReadByID(ctx, second.ID))(t).ID, second.ID)

	done(t, client.TeamTokens.Delete(ctx, crew.ID))
	_, err := client.TeamTokens.Read(ctx, crew.ID)
	refused(t, err, tfe.ErrResourceNotFound)
	same(t, worksFor(t, second.Token, org), false)
}

func TestATeamHasTokensWithDescriptionsBesideTheOneWithout(t *testing.T) {
	client := connect(t, "")
	org := organization(t, client)
	crew := team(t, client, org, "crew")
	described := must(client.TeamTokens.CreateWithOptions(ctx, crew.ID, tfe.TeamTokenCreateOptions{
		Description: tfe.String("for the night"),
	}))(t)
	same(t, *described.Description, "for the night")
	must(client.TeamTokens.Create(ctx, crew.ID))(t)
	must(client.TeamTokens.Create(ctx, crew.ID))(t)
	same(t, worksFor(t, described.Token, org), true)

	listed := must(client.TeamTokens.List(ctx, org, &tfe.TeamTokenListOptions{
		Query: "crew", Sort: "-created-by",
	}))(t)
	same(t, len(listed.Items), 2)
	same(t, listed.Items[0].Team.ID, crew.ID)
	same(t, listed.Items[0].CreatedBy.User != nil, true)
	done(t, client.TeamTokens.DeleteByID(ctx, described.ID))
	same(t, worksFor(t, described.Token, org), false)
}

func TestAUserHasManyTokens(t *testing.T) {
	client := connect(t, "")
	me := must(client.Users.ReadCurrent(ctx))(t)
	ends := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	made := must(client.UserTokens.Create(ctx, me.ID, tfe.UserTokenCreateOptions{
		Description: "for the night", ExpiredAt: &ends,
	}))(t)
	same(t, made.Description, "for the night")
	same(t, must(connect(t, made.Token).Users.ReadCurrent(ctx))(t).ID, me.ID)

	read := must(client.UserTokens.Read(ctx, made.ID))(t)
	same(t, read.ExpiredAt.UTC(), ends)
	same(t, read.Token, "")
	listed := must(client.UserTokens.List(ctx, me.ID))(t)
	same(t, len(listed.Items) >= 2, true)

	done(t, client.UserTokens.Delete(ctx, made.ID))
	_, err := client.UserTokens.Read(ctx, made.ID)
	refused(t, err, tfe.ErrResourceNotFound)
}

func TestOnlyTheOperatorChangesAnAccount(t *testing.T) {
	client := connect(t, "")
	_, err := client.Users.UpdateCurrent(ctx, tfe.UserUpdateOptions{Username: tfe.String("x")})
	same(t, strings.Contains(err.Error(), "Only the operator changes a user"), true)
}

// worksFor tells whether the organization can be read with a token.
func worksFor(t *testing.T, token, organization string) bool {
	t.Helper()
	_, err := connect(t, token).Organizations.Read(ctx, organization)
	return err == nil
}
