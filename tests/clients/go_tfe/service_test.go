// Package go_tfe uses the calls of go-tfe, HashiCorp's SDK for Go, for all that a service keeps.
// TFE_ADDRESS says where it is, and TFE_TOKEN is the token of a site admin there.
package go_tfe

import (
	"context"
	"crypto/rand"
	"errors"
	"reflect"
	"strings"
	"testing"

	tfe "github.com/hashicorp/go-tfe"
)

// ctx is that of every call: nothing here is called off.
var ctx = context.Background()

// connect returns a client with the token of the environment, or another's.
func connect(t *testing.T, token string) *tfe.Client {
	t.Helper()
	config := tfe.DefaultConfig()
	if token != "" {
		config.Token = token
	}
	return must(tfe.NewClient(config))(t)
}

// organization makes one for the test alone; its name.
func organization(t *testing.T, client *tfe.Client) string {
	t.Helper()
	name := unique("org")
	must(client.Organizations.Create(ctx, tfe.OrganizationCreateOptions{
		Name: &name, Email: tfe.String("root@example.com"),
	}))(t)
	t.Cleanup(func() { done(t, client.Organizations.Delete(ctx, name)) })
	return name
}

// workspace makes one with that name.
func workspace(t *testing.T, client *tfe.Client, organization, name string) *tfe.Workspace {
	t.Helper()
	options := tfe.WorkspaceCreateOptions{Name: &name}
	return must(client.Workspaces.Create(ctx, organization, options))(t)
}

// team makes one with that name.
func team(t *testing.T, client *tfe.Client, organization, name string) *tfe.Team {
	t.Helper()
	return must(client.Teams.Create(ctx, organization, tfe.TeamCreateOptions{Name: &name}))(t)
}

// unique is a name that nothing else has.
func unique(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()) }

// must is what a call returned; the test ends if it returned an error instead.
func must[T any](got T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		done(t, err)
		return got
	}
}

// done ends the test if there is an error.
func done(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused ends the test unless the error is the one of go-tfe that says so.
func refused(t *testing.T, err, why error) {
	t.Helper()
	if !errors.Is(err, why) {
		t.Fatalf("%v, and not %v", err, why)
	}
}

// same marks the test as failed where the two differ.
func same[T any](t *testing.T, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, and not %v", got, want)
	}
}

// each is what there is to say of every item.
func each[Item, Said any](items []Item, say func(Item) Said) []Said {
	said := make([]Said, len(items))
	for place, item := range items {
		said[place] = say(item)
	}
	return said
}
