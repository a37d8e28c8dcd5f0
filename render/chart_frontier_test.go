package render

import "testing"

// Levels that lie together share a label; the others keep theirs.
func TestCrowdedLevelsShareALabel(t *testing.T) {
	var all []*crowd
	for _, l := range []struct {
		name string
		x, y float64
	}{{"1/s", 3, 425}, {"2/s", 1.3, 430}, {"8/s", 0.86, 429}, {"16/s", 0.82, 429}, {"unlimited", 0.79, 428}} {
		all = append(all, &crowd{point: object{"value": []any{l.x, l.y, l.name}}, x: l.x, y: l.y, first: l.name, last: l.name})
	}
	labelCrowds(all, false)
	want := []string{"1/s", "2/s", "8/s … unlimited", "", ""}
	for i, c := range all {
		got := c.point["value"].([]any)[2]
		if l, ok := c.point["label"].(object); ok && l["show"] == false {
			got = ""
		}
		if got != want[i] {
			t.Errorf("level %d is labelled %q, want %q", i, got, want[i])
		}
	}
	labelCrowds(nil, true)
}
