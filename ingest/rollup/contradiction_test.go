package rollup

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// Rows that are sound one by one make no figure that cannot be: the cell is left
// out and told, the others are kept.
func TestContradiction(t *testing.T) {
	spec, _ := json.Marshal(looseSpec())
	quoted := `"` + strings.ReplaceAll(string(spec), `"`, `""`) + `"`
	const header = "vreport_rollup,d1,time_window,metric,bucket,n,total,squares,least,most,spec\n"
	decode := func(rows string) (*serving.Rollup, *serving.Input, error) {
		in := &serving.Input{}
		r, err := DecodeCSV(context.Background(), "f.csv", strings.NewReader(header+rows+"spec,,,,0,0,0,0,0,0,"+quoted+"\n"), in)
		return r, in, err
	}
	const sent = "cell,chat,,@outcome,0,7,0,0,0,0,\ncell,chat,,@outcome,1,2,0,0,0,0,\n"
	for name, c := range map[string]struct{ rows, want string }{
		"more good than completed":   {sent + "cell,chat,,@good,1,8,0,0,0,0,\n", "8 good requests of 7 completed"},
		"more judged than sent":      {sent + "cell,chat,,@slo.1,1,10,0,0,0,0,\n", "10 requests within an objective of 10, of 9 sent"},
		"requests overflow":          {strings.Repeat("cell,chat,,@outcome,0,1125899906842624,0,0,0,0,\n", 2), "a count of 2251799813685248"},
		"tokens wrap to nothing":     {sent + strings.Repeat("cell,chat,,@input,0,1,1152921504606846976,0,0,0,\n", 16), "a sum of 9223372036854775807"},
		"a bucket overflows":         {sent + strings.Repeat("cell,chat,,ttft,0,1125899906842624,0,0,0,0,\n", 2), "a count of 2251799813685248"},
		"more cached than there was": {sent + "cell,chat,,@input,0,7,100,0,0,0,\ncell,chat,,@cached_of,0,7,100,0,0,0,\ncell,chat,,@cached,0,7,101,0,0,0,\n", "101 cached tokens of prompts of 100"},
		"cached of no prompts":       {sent + "cell,chat,,@cached_of,0,7,100,0,0,0,\n", "100 prompt tokens that say what was cached, of 0"},
		"more values than completed": {sent + "cell,chat,,ttft,5,8,40,200,5,5,\n", "8 values of ttft of 7 requests completed"},
		"more whole than sent":       {sent + "cell,chat,,@whole,0,10,0,0,0,0,\n", "10 answers that came whole, of 9"},
		"more brief than completed":  {sent + "cell,chat,,@brief,0,8,0,0,0,0,\n", "8 answers of one token, of 7"},
	} {
		r, in, err := decode("cell,,,@outcome,0,7,0,0,0,0,\n" + c.rows)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list := in.Problems.List()
		if len(list) != 1 || !strings.Contains(list[0].Message, c.want) || !strings.Contains(list[0].Message, `"chat"`) || list[0].At.Line != 3 {
			t.Errorf("%s: problems %v, want one with %q", name, list, c.want)
		}
		if len(r.Cells) != 1 || r.Cells[0].By[0] != "" || r.Cells[0].Sent() != 7 {
			t.Errorf("%s: %d cells, want the other one alone", name, len(r.Cells))
		}
		if _, _, err := decode(c.rows); err == nil {
			t.Errorf("%s: a file of nothing else is read", name)
		}
	}
	if r, in, err := decode(sent + "cell,chat,,@good,1,7,0,0,0,0,\ncell,chat,,@slo.1,1,9,0,0,0,0,\n"); err != nil || in.Problems.Len() > 0 || len(r.Cells) != 1 {
		t.Errorf("counts at their limit: %v, problems %v", err, in.Problems.List())
	}
}
