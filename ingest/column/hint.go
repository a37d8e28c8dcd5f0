package column

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// hintTimes notes, where nothing says when requests arrived, which column may: one
// that holds times under a name that could mean anything, such as ts.
func (p *Plan) hintTimes() {
	if p.makes(serving.ColArrival) {
		return
	}
	for i, r := range p.Raws {
		if p.Fields[i].As == "" && holdsTimes(&r) {
			p.Notes = append(p.Notes, fmt.Sprintf("when requests arrived is not known; column %s holds times: if it is these, pass --map %s=%s", r.Name, serving.ColArrival, r.Name))
			return
		}
	}
}

// holdsTimes reports whether the values of a column are dates: by their type, or as
// numbers of seconds or less since the epoch under a name that says time.
func holdsTimes(r *Raw) bool {
	switch {
	case r.Kind == Instant:
		return true
	case r.Kind != Int && r.Kind != Float || r.Range == nil || !saysTime(r.Name):
		return false
	}
	lo, _, ok := r.Range()
	_, isDate := epochUnit(lo)
	return ok && isDate
}

// saysTime reports whether a name ends in a word for a moment.
func saysTime(name string) bool {
	w := words(name)
	return len(w) > 0 && slices.Contains([]string{"t", "ts", "time", "timestamp", "date", "datetime", "at", "start", "started", "epoch"}, strings.ToLower(w[len(w)-1]))
}
