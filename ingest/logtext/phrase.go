package logtext

import (
	"bytes"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Phrases are an expression of literals, alternatives, word boundaries, runs of
// digits or of what is no space, and short gaps. They are matched by looking for a
// literal first: a server that fails writes millions of such lines, and the
// machine of package regexp takes a microsecond for ten bytes of each.
type Phrases struct {
	source string
	list   []phrase
}

// A phrase is a sequence of pieces. One of them, a literal with a fixed number of
// bytes before it, is its anchor.
type phrase struct {
	pieces []piece
	anchor piece
	before int // bytes of the phrase before the anchor
}

type pieceKind uint8

const (
	literal  pieceKind = iota
	folded             // a literal in capitals or not
	boundary           // \b
	digits             // \d+, as far as they go
	solid              // \S+, as far as it goes
	gap                // .{0,n}
)

type piece struct {
	kind pieceKind
	text []byte
	most int // runes of a gap
}

// MustPhrases compiles an expression of that kind, and panics where it is none.
func MustPhrases(source string) *Phrases {
	out := &Phrases{source: source}
	for _, pieces := range expand(mustParse(source)) {
		out.list = append(out.list, newPhrase(source, joinPieces(pieces)))
	}
	return out
}

// The classes that may run. They are compared as classes: their text would take
// longer to write than everything else that a program does as it starts.
var digitClass, solidClass = mustParse(`\d`), mustParse(`\S`)

func mustParse(source string) *syntax.Regexp {
	re, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		panic(err)
	}
	return re
}

// expand returns every sequence of pieces that an expression stands for.
func expand(re *syntax.Regexp) [][]piece {
	one := func(p piece) [][]piece { return [][]piece{{p}} }
	switch re.Op {
	case syntax.OpEmptyMatch:
		return [][]piece{nil}
	case syntax.OpLiteral:
		kind := literal
		if re.Flags&syntax.FoldCase != 0 {
			kind = folded
		}
		return one(piece{kind: kind, text: []byte(string(re.Rune))})
	case syntax.OpWordBoundary:
		return one(piece{kind: boundary})
	case syntax.OpQuest:
		return append(expand(re.Sub[0]), nil)
	case syntax.OpPlus:
		switch {
		case re.Sub[0].Equal(digitClass):
			return one(piece{kind: digits})
		case re.Sub[0].Equal(solidClass):
			return one(piece{kind: solid})
		}
	case syntax.OpRepeat:
		if re.Min == 0 && re.Sub[0].Op == syntax.OpAnyCharNotNL {
			return one(piece{kind: gap, most: re.Max})
		}
	case syntax.OpCharClass:
		var out [][]piece
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				out = append(out, []piece{{text: []byte(string(r))}})
			}
		}
		return out
	case syntax.OpAlternate:
		var out [][]piece
		for _, sub := range re.Sub {
			out = append(out, expand(sub)...)
		}
		return out
	case syntax.OpConcat:
		out := [][]piece{nil}
		for _, sub := range re.Sub {
			var longer [][]piece
			for _, head := range out {
				for _, tail := range expand(sub) {
					longer = append(longer, append(head[:len(head):len(head)], tail...))
				}
			}
			out = longer
		}
		return out
	}
	panic(fmt.Sprintf("no phrases: %s", re))
}

// joinPieces makes one literal of those that follow each other.
func joinPieces(pieces []piece) []piece {
	var out []piece
	for _, p := range pieces {
		if n := len(out); n > 0 && p.kind == literal && out[n-1].kind == literal {
			out[n-1].text = append(bytes.Clone(out[n-1].text), p.text...)
			continue
		}
		out = append(out, p)
	}
	return out
}

func newPhrase(source string, pieces []piece) phrase {
	p := phrase{pieces: pieces, anchor: piece{kind: folded}}
	width := 0
	for i, x := range pieces {
		if x.kind >= digits {
			// What may be of any length goes as far as it can; that is all it can
			// be where what follows cannot be part of it.
			next := pieces[i+1]
			if len(next.text) == 0 && next.kind != boundary || x.kind == solid && next.text[0] != ' ' || x.kind == digits && strings.ContainsRune("0123456789", rune(next.text[0])) {
				panic("no phrases: " + source)
			}
			break
		}
		if x.kind == folded && bytes.ContainsAny(x.text, "kKsS") {
			panic("no phrases, since k and s have a third form: " + source)
		}
		if better := x.kind == literal && p.anchor.kind == folded; better || x.kind == p.anchor.kind && len(x.text) > len(p.anchor.text) {
			p.anchor, p.before = x, width
		}
		width += len(x.text)
	}
	if p.anchor.text == nil {
		panic("no phrases: " + source)
	}
	return p
}

// Match reports whether one of the phrases stands in a text.
func (ps *Phrases) Match(text []byte) bool {
	for i := range ps.list {
		if ps.list[i].in(text) {
			return true
		}
	}
	return false
}

func (p *phrase) in(text []byte) bool {
	for from := 0; ; {
		i := p.anchor.index(text[from:])
		if i < 0 {
			return false
		}
		if at := from + i - p.before; at >= 0 && follows(text, at, p.pieces) {
			return true
		}
		from += i + 1
	}
}

// index finds a literal, -1 for nowhere.
func (p *piece) index(text []byte) int {
	if p.kind == literal {
		return bytes.Index(text, p.text)
	}
	for i := 0; i+len(p.text) <= len(text); i++ {
		if (text[i]^p.text[0])&^0x20 == 0 && bytes.EqualFold(text[i:i+len(p.text)], p.text) {
			return i
		}
	}
	return -1
}

// follows reports whether the pieces stand in a text from a place on.
func follows(text []byte, at int, pieces []piece) bool {
	for k, p := range pieces {
		rest := text[at:]
		switch p.kind {
		case boundary:
			if wordAt(text, at-1) == wordAt(text, at) {
				return false
			}
		case literal:
			if !bytes.HasPrefix(rest, p.text) {
				return false
			}
		case folded:
			if len(rest) < len(p.text) || !bytes.EqualFold(rest[:len(p.text)], p.text) {
				return false
			}
		case gap:
			return followsGap(text, at, p.most, pieces[k+1:])
		default:
			n := run(rest, p.kind)
			if n == 0 {
				return false
			}
			at += n
		}
		at += len(p.text)
	}
	return true
}

// followsGap looks for the pieces behind a gap of so many runes at most.
func followsGap(text []byte, at, most int, pieces []piece) bool {
	for n := 0; ; n++ {
		if follows(text, at, pieces) {
			return true
		}
		if n == most || at == len(text) || text[at] == '\n' {
			return false
		}
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
}

// run is how long the digits, or what is no space, go.
func run(text []byte, kind pieceKind) int {
	for i, c := range text {
		space := c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'
		if kind == digits && (c < '0' || c > '9') || kind == solid && space {
			return i
		}
	}
	return len(text)
}

// wordAt reports whether a letter, digit or underscore of ASCII stands at a place.
func wordAt(text []byte, i int) bool {
	if i < 0 || i >= len(text) {
		return false
	}
	c := text[i]
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
