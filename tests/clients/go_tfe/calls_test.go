package go_tfe

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"

	tfe "github.com/hashicorp/go-tfe"
)

// The calls for what a service keeps, by the name that a client has for them.
var kept = map[string]reflect.Type{
	"Organizations":           reflect.TypeFor[tfe.Organizations](),
	"OrganizationMemberships": reflect.TypeFor[tfe.OrganizationMemberships](),
	"OrganizationTags":        reflect.TypeFor[tfe.OrganizationTags](),
	"OrganizationTokens":      reflect.TypeFor[tfe.OrganizationTokens](),
	"Teams":                   reflect.TypeFor[tfe.Teams](),
	"TeamMembers":             reflect.TypeFor[tfe.TeamMembers](),
	"TeamTokens":              reflect.TypeFor[tfe.TeamTokens](),
	"TeamAccess":              reflect.TypeFor[tfe.TeamAccesses](),
	"Users":                   reflect.TypeFor[tfe.Users](),
	"UserTokens":              reflect.TypeFor[tfe.UserTokens](),
	"Projects":                reflect.TypeFor[tfe.Projects](),
	"TeamProjectAccess":       reflect.TypeFor[tfe.TeamProjectAccesses](),
	"Workspaces":              reflect.TypeFor[tfe.Workspaces](),
	"Variables":               reflect.TypeFor[tfe.Variables](),
	"VariableSets":            reflect.TypeFor[tfe.VariableSets](),
	"VariableSetVariables":    reflect.TypeFor[tfe.VariableSetVariables](),
}

// Of those, the ones that have nothing to be about: runs, states, repositories, keys of machines,
// stacks, tokens of a restricted kind.
var withoutSubject = regexp.MustCompile(
	`Capacity|RunQueue|DataRetentionPolicy|VCSConnection|SSHKey|Readme|RemoteStateConsumers` +
		`|VariableSets\.\w*Stacks` +
		`|OrganizationTokens\.(Read|Delete)WithOptions`)

func TestEveryCallThatHasASubjectIsUsed(t *testing.T) {
	var written []byte
	for _, file := range must(os.ReadDir("."))(t) {
		written = append(written, must(os.ReadFile(file.Name()))(t)...)
	}
	used := make(map[string]bool)
	for _, call := range regexp.MustCompile(`\.(\w+\.\w+)\(ctx`).FindAllSubmatch(written, -1) {
		used[string(call[1])] = true
	}
	var unused []string
	for name, calls := range kept {
		for number := range calls.NumMethod() {
			call := name + "." + calls.Method(number).Name
			if !used[call] && !withoutSubject.MatchString(call) {
				unused = append(unused, call)
			}
		}
	}
	slices.Sort(unused)
	same(t, unused, nil)
}
