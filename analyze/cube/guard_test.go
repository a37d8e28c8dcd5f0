package cube

import (
	"context"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// A panicking is a source one of whose parts panics.
type panicking struct{ serving.Requests }

type panickingPart struct{ serving.Part }

func (p panicking) Parts() []serving.Part {
	parts := p.Requests.Parts()
	parts[len(parts)/2] = panickingPart{parts[len(parts)/2]}
	return parts
}

func (p panickingPart) Scan(context.Context, []string, *serving.Problems, func(*serving.Batch) error) error {
	panic("met what nobody foresaw")
}

// A panic over one part is an error that names its file, whether the table is held or
// scanned, and ends all goroutines.
func TestPanicIsAnError(t *testing.T) {
	for _, held := range []bool{true, false} {
		m := newMemory(5000)
		m.parts, m.once = 7, held
		m.add(serving.Column{Name: string(serving.TTFT), Kind: serving.KindDuration}, &column{floats: make([]float64, m.n)})
		if !held {
			was := heldRows
			heldRows = 0
			defer func() { heldRows = was }()
		}
		src := panicking{m}
		_, err := Fill(context.Background(), src, Plan{Groupings: []Grouping{{}}, Metrics: []serving.MetricKey{serving.TTFT}, Workers: 3}, nil, nil)
		if err == nil || !strings.Contains(err.Error(), serving.Bug) || !strings.Contains(err.Error(), "met what nobody foresaw at analyze/cube.panickingPart.Scan:") {
			t.Errorf("held %v: %v", held, err)
		}
	}
}
