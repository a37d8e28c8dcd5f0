package cube

import (
	"math"
	"math/bits"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/wide"
)

// A stateCounts counts rows by leaf and by what became of them.
type stateCounts []uint32

const states = 32 // outcome, goodBit, wholeBit

func (n stateCounts) add(leaves []uint32, state []uint8) {
	state = state[:len(leaves)]
	for row, leaf := range leaves {
		n[leaf*states+uint32(state[row]&(states-1))]++
	}
}

// move adds the counts to the leaves and starts anew.
func (n stateCounts) move(to []leafCounts) {
	for leaf := range to {
		k := &to[leaf]
		for st, rows := range n[leaf*states : (leaf+1)*states] {
			if rows == 0 {
				continue
			}
			k.sent += int64(rows)
			k.outcomes[st&outcomeBits] += int64(rows)
			if st&goodBit != 0 {
				k.good += int64(rows)
			}
		}
	}
	clear(n)
}

// addTokens adds up the tokens of completed requests by leaf. Arrival is mostly
// in order, so the rows of a time window come one after the other.
func (s *stock) addTokens(leaves []uint32, c *chunk) {
	prompt, output, cached := c.column(c.lay.prompt), c.column(c.lay.output), c.column(c.lay.cached)
	var k leafCounts
	last := uint32(0)
	for row, leaf := range leaves {
		if leaf != last {
			s.counts[last].merge(&k)
			k, last = leafCounts{}, leaf
		}
		if !c.ok(row) {
			continue
		}
		p, known := tokenAt(prompt, row)
		k.input += p
		if n, ok := tokenAt(cached, row); ok && known {
			k.cached += n
			k.cachedOf += p
		}
		n, _ := tokenAt(output, row)
		k.output += n
	}
	if len(leaves) > 0 {
		s.counts[last].merge(&k)
	}
}

// listUncached lists the completed requests of which nobody says what was cached
// of the prompt, and the reverse: they are few.
func (w *filler) listUncached(c *chunk) {
	w.uncached = w.uncached[:0]
	lay := c.lay
	if lay.cached < 0 || !c.holes[lay.cached] && (lay.prompt < 0 || !c.holes[lay.prompt]) {
		return
	}
	b := &w.tokens
	b.completed = sized(b.completed, (c.n+63)/64)
	wide.Without(b.completed, c.state, outcomeBits) // OK is 0
	b.known = b.counts(b.known, c.column(lay.prompt))
	b.cached = b.counts(b.cached, c.column(lay.cached))
	for i, ok := range b.completed {
		for left := (b.known[i] ^ b.cached[i]) & ok; left != 0; left &= left - 1 {
			w.uncached = append(w.uncached, uint32(i<<6+bits.TrailingZeros64(left)))
		}
	}
}

// tokenBits are bitmaps of the rows of a chunk.
type tokenBits struct{ completed, known, cached, none []uint64 }

// counts sets the bits of the rows of which tokenAt knows the tokens.
func (b *tokenBits) counts(dst []uint64, column []float64) []uint64 {
	n := len(b.completed)
	dst, b.none = sized(dst, n), sized(b.none, n)
	if column == nil {
		clear(dst)
		return dst
	}
	wide.AtMost(dst, column, math.Nextafter(maxToken, 0))
	wide.AtMost(b.none, column, -maxToken)
	for i, none := range b.none {
		dst[i] &^= none
	}
	return dst
}

// maxToken bounds what is taken as a count of tokens.
const maxToken = 1 << 62

// addUncached notes the tokens that cannot be told from the sums of the token
// metrics, of the rows listed.
func (s *stock) addUncached(leaves []uint32, c *chunk, rows []uint32) {
	prompt, cached := c.column(c.lay.prompt), c.column(c.lay.cached)
	for _, row := range rows {
		k := &s.counts[leaves[row]]
		if p, known := tokenAt(prompt, int(row)); known {
			k.cachedOf -= p
		} else {
			n, _ := tokenAt(cached, int(row))
			k.cached -= n
		}
	}
}

// sumTokens takes the leaves' tokens from their token metrics, which count the
// same values.
func (s *stock) sumTokens(lay *layout) {
	for leaf := range s.counts {
		k := &s.counts[leaf]
		sum := func(m int) int64 {
			if m < 0 {
				return 0
			}
			return int64(s.accs[m][leaf].sums.lo)
		}
		k.input, k.output = sum(lay.prompt), sum(lay.output)
		if lay.cached >= 0 && lay.prompt >= 0 {
			k.cached += sum(lay.cached)
			k.cachedOf += k.input
		}
	}
}

// sumsTokens reports whether sumTokens is for this family: it has the metrics,
// as whole numbers.
func (f *family) sumsTokens(lay *layout) bool {
	for _, m := range []int{lay.prompt, lay.output, lay.cached} {
		if m >= 0 && (!f.shown[m] || lay.metrics[m].kind != serving.KindCount) {
			return false
		}
	}
	return f.dense
}

// column returns the values of a metric; nil where there are none.
func (t *table) column(metric int) []float64 {
	if metric < 0 || len(t.values[metric]) == 0 {
		return nil
	}
	return t.values[metric]
}

func tokenAt(column []float64, row int) (int64, bool) {
	if column == nil {
		return 0, false
	}
	v := column[row]
	if !(v > -maxToken && v < maxToken) { // missing, or no count at all
		return 0, false
	}
	return int64(v), true
}

// blank makes the values of requests that did not complete missing: they are
// counted, not summarized.
func (c *chunk) blank() {
	for row := range c.state {
		if c.ok(row) {
			continue
		}
		for m := range c.values {
			if len(c.values[m]) > 0 {
				c.values[m][row] = math.NaN()
			}
			if g := &c.gaps[m]; len(g.ends) > 0 {
				from, to := span(g.ends, uint32(row))
				for i := from; i < to; i++ {
					g.gaps[i] = math.NaN()
				}
			}
		}
	}
}
