package serving

import (
	"strings"
	"testing"
)

func TestRescue(t *testing.T) {
	run := func(i int) (err error) {
		defer Rescue("a.csv", &err)
		_ = make([]int, 2)[i]
		return nil
	}
	if err := run(1); err != nil {
		t.Error(err)
	}
	err := run(2)
	if err == nil || !strings.HasPrefix(err.Error(), "a.csv: "+Bug+": ") || !strings.Contains(err.Error(), "index out of range [2] with length 2 at ingest/serving.TestRescue.func1:") {
		t.Errorf("%v", err)
	}
}
