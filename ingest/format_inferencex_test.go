package ingest

import "testing"

func TestInferenceXFormat(t *testing.T) {
	in, l := readAs(t, formatInferenceX, "agg.json", `[{"hw": "h200", "conc": 4, "tp": 8, "tput_per_gpu": 5.0, "mean_ttft": 0.1}]`)
	if len(l.runs) != 1 || l.runs[0].Format != "inferencex" || in.Records != 1 {
		t.Errorf("%+v", l)
	}
}
