package column

import (
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// chunkShare is the share of completed requests, and of tokens, above which the
// gaps count as gaps between chunks: a coalesced chunk here and there is what
// any network gives.
const chunkShare = 0.01

// A GapTally compares the gaps of completed requests with their output lengths: a
// request of n tokens has n − 1 gaps between tokens.
type GapTally struct {
	Compared  int // requests with gaps and an output length
	Different int // of them, another number of gaps than output tokens − 1
	Longer    int // of two tokens or more
	OneChunk  int // of them, without a gap

	off, want float64 // gaps too many or too few, gaps expected
}

// Look counts a completed request of that many gaps and output tokens. One whose
// length is not known, or 0, tells nothing.
func (t *GapTally) Look(gaps int, tokens float64) {
	if !(tokens >= 1) {
		return
	}
	t.Compared++
	t.want += tokens - 1
	if d := math.Abs(float64(gaps) - (tokens - 1)); d != 0 {
		t.Different++
		t.off += d
	}
	if tokens >= 2 {
		t.Longer++
		if gaps == 0 {
			t.OneChunk++
		}
	}
}

// Kind is what the gaps lie between: token or chunk. That it is tokens is said
// only where the counts agree.
func (t *GapTally) Kind() string {
	if t.Compared == 0 || float64(t.Different) > chunkShare*float64(t.Compared) || t.off > chunkShare*t.want {
		return "chunk"
	}
	return "token"
}

// InOnePiece reports whether no answer of several tokens came in more than one
// chunk: nothing was streamed, and a time to first token is the whole latency.
func (t *GapTally) InOnePiece() bool { return t.Longer > 0 && t.OneChunk == t.Longer }

// PieceShare is the share of answers of two tokens or more that came in one piece:
// their TTFT is their E2E. 0 where there are none.
func (t *GapTally) PieceShare() float64 { return float64(t.OneChunk) / float64(max(1, t.Longer)) }

// DecodeOf returns the time from the first to the last chunk of a completed
// request and its whole latency, in seconds; NaN where unknown. Without a latency
// (0 or NaN) the sum of the gaps is exact, where all of them are known: it is how
// the clients' own figures come out.
func DecodeOf(latency, ttft float64, gaps []float64, whole bool) (decode, total float64) {
	if latency > 0 {
		if ttft > 0 && latency >= ttft {
			return latency - ttft, latency
		}
		return math.NaN(), latency
	}
	if !whole || !(ttft > 0) {
		return math.NaN(), math.NaN()
	}
	sum := 0.0
	for _, g := range gaps {
		sum += g
	}
	return sum, ttft + sum
}

// Durations are a column of seconds in the making.
type Durations struct {
	values []float64
	valid  serving.Bitmap
}

// NewDurations returns a column of rows without a value.
func NewDurations(rows int) Durations {
	return Durations{make([]float64, rows), serving.NewBitmap(rows)}
}

// Set gives a row its value.
func (d Durations) Set(row int, seconds float64) {
	d.values[row] = seconds
	d.valid.Set(row)
}

// AddDurations adds a column of a metric, unless no row has a value.
func (t *Table) AddDurations(m serving.MetricKey, d Durations, from, how string) {
	if d.valid.Count() > 0 {
		t.Floats(serving.Column{Name: string(m), Kind: serving.KindDuration, From: from, Unit: "s", How: how}, d.values, AllRows(d.valid, t.rows))
	}
}

// AllRows returns nil, which means every row, in the place of a full bitmap.
func AllRows(valid serving.Bitmap, rows int) serving.Bitmap {
	if valid.Count() == rows {
		return nil
	}
	return valid
}
