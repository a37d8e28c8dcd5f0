package verdict

import (
	"fmt"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// A Figure is what is compared: a statistic of a metric, or a rate.
type Figure struct {
	Metric serving.MetricKey
	Stat   string // p50, p95, mean; "" of a rate or share
}

// String writes a figure as flags do: ttft:p95.
func (f Figure) String() string {
	if f.Stat == "" {
		return string(f.Metric)
	}
	return fmt.Sprintf("%s:%s", f.Metric, f.Stat)
}

// Shares of sent requests: those that failed, and those that met every condition.
// They are compared by their difference, not their ratio: they may be 0.
const (
	FailedShare serving.MetricKey = "failed_share"
	GoodShare   serving.MetricKey = "goodput_share"
)

// IsShare reports whether the figure is a share of the requests.
func (f Figure) IsShare() bool { return f.Metric == FailedShare || f.Metric == GoodShare }

// Better is which direction of the figure is an improvement.
func (f Figure) Better() serving.Better {
	if m, ok := serving.MetricOf(f.Metric); ok {
		return m.Better
	}
	switch f.Metric {
	case FailedShare:
		return serving.LowerIsBetter
	case GoodShare, serving.RateRequests, serving.RateOutput, serving.RateTotal, serving.GoodRequests:
		return serving.HigherIsBetter
	}
	return serving.Indifferent
}

// Threshold is the change below which nobody should care, as a share of the
// value (of a share of requests: as a difference): 3 % of rates and TPOT, 5 % of other
// medians and means, 10 % of tails.
func (f Figure) Threshold() float64 {
	tail := false
	if p, ok := serving.QuantileOf(f.Stat); ok {
		tail = p > 0.75
	}
	switch {
	case f.Metric == FailedShare:
		return 0.02
	case f.Metric == GoodShare:
		return 0.03
	case tail:
		return 0.10
	case f.Better() == serving.HigherIsBetter, f.Metric == serving.TPOT:
		return 0.03
	}
	return 0.05
}

// AssumedNoise is what two runs of the same thing are taken to differ by where
// there are no repeats to tell: a change of one run against one must exceed it.
// It is a judgement, printed where it decides: published repeats of serving
// benchmarks differ by a few percent in medians and rates, and several times that
// in tails.
func (f Figure) AssumedNoise() float64 { return 2.5 * f.Threshold() }

// ParseFigure reads a figure as String writes it. A metric without a statistic
// stands for all of its statistics.
func ParseFigure(s string) (Figure, error) {
	metric, name, _ := strings.Cut(s, ":")
	f := Figure{Metric: serving.MetricKey(metric), Stat: name}
	_, latency := serving.MetricOf(f.Metric)
	switch {
	case !latency && (f.Better() == serving.Indifferent || name != ""):
		return Figure{}, fmt.Errorf("%q is no figure, want e.g. ttft:p95, tpot:mean, %s, %s, %s or %s", s, serving.RateRequests, serving.RateOutput, FailedShare, GoodShare)
	case name == "", name == "mean":
		return f, nil
	}
	if p, ok := serving.QuantileOf(name); !ok || p <= 0 || p >= 1 {
		return Figure{}, fmt.Errorf("%q is no statistic, want a percentile (p50, p95) or mean", name)
	}
	return f, nil
}
