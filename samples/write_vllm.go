package samples

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"
)

// A bench is what `vllm bench serve` was told, beside what it measured.
type bench struct {
	model       string
	rate        float64 // requests/s; 0: inf
	concurrency int     // 0: null
	metadata    [][2]string
	detailed    bool  // --save-detailed
	zero        int64 // unix seconds of the simulation's zero
}

// benchPercentiles is --metric-percentiles.
var benchPercentiles = []float64{50, 90, 95, 99}

// A sent is one request as the benchmark saw it.
type sent struct {
	a      *attempt
	ok     bool
	output int
	start  int64
	ttft   int64
	gaps   []int64
	end    int64 // the last chunk, or when it failed
}

func sentBy(attempts []*attempt) []sent {
	out := make([]sent, len(attempts))
	for i, a := range attempts {
		s := sent{a: a, ok: a.status == statusOK && !a.abandoned, start: a.sent, end: a.closed}
		chunks := a.chunks()
		for k, t := range chunks {
			if k == 0 {
				s.ttft = t - a.sent
			} else {
				s.gaps = append(s.gaps, t-chunks[k-1])
			}
			s.end = t
		}
		if s.ok {
			s.output = len(a.tokenAt)
		}
		out[i] = s
	}
	return out
}

// writeBench writes a result file of `vllm bench serve`: one JSON object on one
// line, times of the arrays in seconds, aggregates in milliseconds.
func writeBench(b bench, attempts []*attempt) []byte {
	all := sentBy(attempts)
	w := &objectWriter{}
	first, last := int64(math.MaxInt64), int64(0)
	for _, s := range all {
		first, last = min(first, s.start), max(last, s.end, s.a.closed)
	}
	var ok []sent
	var in, out int
	for _, s := range all {
		if s.ok {
			ok = append(ok, s)
			in += s.a.req.prompt
			out += s.output
		}
	}
	d := sec(last - first)
	w.str("date", time.Unix(b.zero, last).UTC().Format("20060102-150405"))
	w.str("endpoint_type", "openai")
	w.str("backend", "openai")
	w.raw("label", "null")
	w.str("model_id", b.model)
	w.str("tokenizer_id", b.model)
	w.raw("num_prompts", strconv.Itoa(len(all)))
	for _, m := range b.metadata {
		w.str(m[0], m[1])
	}
	if b.rate > 0 {
		w.num("request_rate", b.rate)
	} else {
		w.str("request_rate", "inf")
	}
	w.num("burstiness", 1)
	if b.concurrency > 0 {
		w.raw("max_concurrency", strconv.Itoa(b.concurrency))
	} else {
		w.raw("max_concurrency", "null")
	}
	w.num("duration", d)
	w.raw("completed", strconv.Itoa(len(ok)))
	w.raw("failed", strconv.Itoa(len(all)-len(ok)))
	w.raw("total_input_tokens", strconv.Itoa(in))
	w.raw("total_output_tokens", strconv.Itoa(out))
	w.num("request_throughput", float64(len(ok))/d)
	w.raw("request_goodput", "null")
	w.num("output_throughput", float64(out)/d)
	w.num("total_token_throughput", float64(in+out)/d)
	if b.detailed {
		w.details(all)
	}
	peak, most := busiestSecond(all, first)
	w.num("max_output_tokens_per_s", float64(peak))
	w.raw("max_concurrent_requests", strconv.Itoa(most))
	w.num("rtfx", 0)
	w.aggregates(ok)
	return w.done()
}

// details writes the request arrays.
func (w *objectWriter) details(all []sent) {
	each := func(key string, f func(s sent, b []byte) []byte) {
		w.array(key, len(all), func(i int, b []byte) []byte { return f(all[i], b) })
	}
	// The process clock of the client has an arbitrary origin.
	const origin = 51_827 * second
	each("input_lens", func(s sent, b []byte) []byte { return strconv.AppendInt(b, int64(s.a.req.prompt), 10) })
	each("output_lens", func(s sent, b []byte) []byte { return strconv.AppendInt(b, int64(s.output), 10) })
	each("ttfts", func(s sent, b []byte) []byte { return appendPython(b, sec(s.ttft)) })
	each("itls", func(s sent, b []byte) []byte {
		b = append(b, '[')
		for i, g := range s.gaps {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendPython(b, sec(g))
		}
		return append(b, ']')
	})
	each("start_times", func(s sent, b []byte) []byte { return appendPython(b, sec(origin+s.start)) })
	each("generated_texts", func(s sent, b []byte) []byte {
		if s.output == 0 {
			return append(b, `""`...)
		}
		return append(b, `" synthetic text"`...)
	})
	each("errors", func(s sent, b []byte) []byte { return strconv.AppendQuote(b, s.failure()) })
}

func (s sent) failure() string {
	switch {
	case s.ok:
		return ""
	case s.a.errText == "":
		return "Internal Server Error"
	}
	return s.a.errText
}

// busiestSecond counts chunks and requests in one-second buckets from the first
// dispatch on, as the benchmark does.
func busiestSecond(all []sent, first int64) (chunks, requests int) {
	perSecond, open := map[int64]int{}, map[int64]int{}
	for _, s := range all {
		t := s.start + s.ttft - first
		if s.ok {
			perSecond[t/second]++
			for _, g := range s.gaps {
				t += g
				perSecond[t/second]++
			}
		}
		for b := (s.start - first) / second; b <= (s.end-first)/second; b++ {
			open[b]++
		}
	}
	for _, n := range perSecond {
		chunks = max(chunks, n)
	}
	for _, n := range open {
		requests = max(requests, n)
	}
	return chunks, requests
}

// aggregates writes mean, median, std and percentiles of the four metrics in
// milliseconds; 0 where there is nothing.
func (w *objectWriter) aggregates(ok []sent) {
	var ttft, tpot, itl, e2el []float64
	for _, s := range ok {
		ttft = append(ttft, sec(s.ttft))
		var rest int64
		for _, g := range s.gaps {
			rest += g
			itl = append(itl, sec(g))
		}
		e2el = append(e2el, sec(s.ttft+rest))
		if s.output > 1 {
			tpot = append(tpot, sec(rest)/float64(s.output-1))
		}
	}
	for _, m := range []struct {
		key string
		v   []float64
	}{{"ttft", ttft}, {"tpot", tpot}, {"itl", itl}, {"e2el", e2el}} {
		mean, std := meanStd(m.v)
		slices.Sort(m.v)
		w.num("mean_"+m.key+"_ms", 1000*mean)
		w.num("median_"+m.key+"_ms", 1000*quantile(m.v, 0.5))
		w.num("std_"+m.key+"_ms", 1000*std)
		for _, p := range benchPercentiles {
			w.num("p"+strconv.FormatFloat(p, 'f', -1, 64)+"_"+m.key+"_ms", 1000*quantile(m.v, p/100))
		}
	}
}

// meanStd returns the mean and the population's standard deviation.
func meanStd(v []float64) (mean, std float64) {
	if len(v) == 0 {
		return 0, 0
	}
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	for _, x := range v {
		std += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(std / float64(len(v)))
}

// quantile interpolates linearly in sorted values, as numpy does; 0 of none.
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	h := p * float64(len(sorted)-1)
	i := int(h)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
}

// An objectWriter writes one JSON object as Python's json.dump does.
type objectWriter struct{ b bytes.Buffer }

func (w *objectWriter) key(k string) {
	if w.b.Len() == 0 {
		w.b.WriteByte('{')
	} else {
		w.b.WriteString(", ")
	}
	w.b.WriteString(strconv.Quote(k) + ": ")
}

func (w *objectWriter) raw(k, v string) { w.key(k); w.b.WriteString(v) }

func (w *objectWriter) str(k, v string) {
	text, _ := json.Marshal(v) // a string cannot fail
	w.raw(k, string(text))
}

func (w *objectWriter) num(k string, v float64) { w.key(k); w.b.Write(appendPython(nil, v)) }

func (w *objectWriter) array(k string, n int, item func(i int, b []byte) []byte) {
	w.key(k)
	b := []byte{'['}
	for i := range n {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = item(i, b)
	}
	w.b.Write(append(b, ']'))
}

func (w *objectWriter) done() []byte {
	w.b.WriteByte('}')
	return w.b.Bytes()
}

// appendPython writes a float as Python's repr does.
func appendPython(b []byte, v float64) []byte {
	if v != 0 && (math.Abs(v) < 1e-4 || math.Abs(v) >= 1e16) {
		return append(b, strconv.FormatFloat(v, 'e', -1, 64)...)
	}
	at := len(b)
	b = strconv.AppendFloat(b, v, 'f', -1, 64)
	if !bytes.ContainsRune(b[at:], '.') {
		b = append(b, ".0"...)
	}
	return b
}
