package serving

import "testing"

// Every metric is defined once, with words a reader can use.
func TestMetricsAreDefined(t *testing.T) {
	seen := map[MetricKey]bool{}
	for _, m := range Metrics {
		if seen[m.Key] {
			t.Errorf("%s is listed twice", m.Key)
		}
		seen[m.Key] = true
		if m.Title == "" || m.Long == "" || m.Doc == "" {
			t.Errorf("%s lacks a title or a definition: %+v", m.Key, m)
		}
		if got, ok := MetricOf(m.Key); !ok || got != m {
			t.Errorf("MetricOf(%s) = %+v", m.Key, got)
		}
	}
}
