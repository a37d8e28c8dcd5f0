package prom

import (
	"bytes"
	"sync"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
)

// Nearly every series in a scrape is written the plain way: name{a="x",b="y"},
// without an escape, in the characters that names may have. Those are read here,
// several times as fast as by Prometheus' parser, which judges all others. A test
// holds the two together.

// plainEnd returns the length of the name of a series that is written the plain
// way, and 0 for any other.
func plainEnd(key []byte) int {
	n := 0
	for n < len(key) && isNameByte(key[n]) {
		n++
	}
	if n == 0 || '0' <= key[0] && key[0] <= '9' {
		return 0
	}
	if n == len(key) {
		return n
	}
	if key[n] != '{' || !utf8.Valid(key) || bytes.IndexByte(key, 0) >= 0 {
		return 0
	}
	var seen [16][]byte // a label that stands twice is for the parser to judge
	count := 0
	for i := n + 1; ; {
		label, _, next := plainLabel(key, i)
		if next < 0 || count == len(seen) || string(label) == nameLabel {
			return 0
		}
		for _, s := range seen[:count] {
			if bytes.Equal(s, label) {
				return 0
			}
		}
		seen[count] = label
		count++
		if next == len(key)-1 && key[next] == '}' {
			return n
		}
		if next >= len(key) || key[next] != ',' {
			return 0
		}
		i = next + 1
	}
}

// plainLabel reads name="value" at key[i:]; next is what follows it, -1 where it
// is not written the plain way.
func plainLabel(key []byte, i int) (name, value []byte, next int) {
	j := i
	for j < len(key) && isNameByte(key[j]) && key[j] != ':' {
		j++
	}
	if j == i || '0' <= key[i] && key[i] <= '9' || j+1 >= len(key) || key[j] != '=' || key[j+1] != '"' {
		return nil, nil, -1
	}
	end := bytes.IndexByte(key[j+2:], '"')
	if end < 0 || bytes.IndexByte(key[j+2:j+2+end], '\\') >= 0 {
		return nil, nil, -1
	}
	return key[i:j], key[j+2 : j+2+end], j + 2 + end + 1
}

// builders are reused: a scrape can bring a million series.
var builders = sync.Pool{New: func() any { b := labels.NewScratchBuilder(16); return &b }}

// plainLabels are the labels of a series whose name plainEnd found.
func plainLabels(key []byte, n int) labels.Labels {
	b := builders.Get().(*labels.ScratchBuilder)
	defer builders.Put(b)
	b.Reset()
	all := string(key)
	b.Add(nameLabel, all[:n])
	for i := n + 1; i < len(key); {
		name, value, next := plainLabel(key, i)
		if next < 0 {
			break
		}
		to := next - 1 - len(value) // where the value begins
		b.Add(all[i:i+len(name)], all[to:next-1])
		i = next + 1
	}
	b.Sort()
	return b.Labels()
}
