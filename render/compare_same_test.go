package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vreport/vreport/analyze"
)

// Nothing is called the same that was not found to be.
func TestSameText(t *testing.T) {
	fact := func(kind analyze.ChangeKind, key, before, after string) analyze.Changed {
		return analyze.Changed{Kind: kind, Key: key, Before: before, After: after}
	}
	var many []analyze.Changed
	for i := range 40 {
		many = append(many, fact(analyze.ChangedMethod, fmt.Sprint("k", i), "1", "1"))
	}
	for _, tt := range []struct {
		name string
		c    analyze.Comparison
		want string
	}{
		{"nothing", analyze.Comparison{}, "The files state nothing that is the same on both sides."},
		{"same", analyze.Comparison{Same: []analyze.Changed{fact(analyze.ChangedModel, "model", "m", "m"), fact(analyze.ChangedSetting, "tp", "1", "1"), fact(analyze.ChangedSetting, "dp", "1", "1")}},
			"The same on both sides, as far as the files say: model, 2 settings."},
		{"chance", analyze.Comparison{Same: []analyze.Changed{fact(analyze.ChangedWorkload, "workload", "chat 52 %", "chat 48 %")}},
			"The same on both sides, as far as the files say: workload within chance (chat 52 % against chat 48 %)."},
		{"not stated", analyze.Comparison{NotStated: []analyze.Changed{fact(analyze.ChangedVersion, "version", analyze.NotStated, analyze.NotStated), fact(analyze.ChangedModel, "model", "m", analyze.NotStated), fact(analyze.ChangedWorkload, "workload", analyze.NotStated, "rag")}},
			"The files state nothing that is the same on both sides. Not stated, so not compared: version, model in new, workload in old."},
		{"the same files", analyze.Comparison{SameFiles: true}, "Both sides are the same files."},
		{"many", analyze.Comparison{Same: append(many, fact(analyze.ChangedSetting, "tp", "1", "1"))}, "The same on both sides, as far as the files say: k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, 28 more, 1 setting."},
	} {
		tt.c.Sides = [2]analyze.SideFacts{{Name: "old"}, {Name: "new"}}
		if got := sameText(&tt.c); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A comparison without a stated difference does not say that there is none.
func TestNoStatedDifference(t *testing.T) {
	rep := compareReport()
	analyze.Value[analyze.Comparison](rep).Changed = nil
	md := renderMarkdown(t, rep, Options{})
	if !strings.Contains(md, "No difference is stated. The same on both sides, as far as the files say: model, ") || !strings.Contains(md, "Not stated, so not compared: version") {
		t.Errorf("the Markdown does not say what was compared:\n%s", md)
	}
}
