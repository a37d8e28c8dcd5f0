package prom

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// A series that says two things of one moment is told; one that says the same thing
// twice is not.
func TestContradicted(t *testing.T) {
	for second, problems := range map[string]int{"3": 0, "7": 1} {
		series := `{"metric":{"__name__":"vllm:num_requests_running","instance":"a"},"values":[[1700000000,"%s"],[1700000010,"4"]]}`
		text := `{"status":"success","data":{"resultType":"matrix","result":[` + fmt.Sprintf(series, "3") + "," + fmt.Sprintf(series, second) + `]}}`
		in := &serving.Input{}
		if _, err := DecodeAPI(context.Background(), "a.json", strings.NewReader(text), in, false); err != nil {
			t.Fatal(err)
		}
		if got := in.Problems.Len(); got != problems {
			t.Errorf("3, then %s: problems %v, want %d", second, in.Problems.List(), problems)
		}
	}
}
