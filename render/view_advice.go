package render

import (
	"fmt"

	"github.com/vreport/vreport/analyze"
)

// adviceView is a list of experiments.
type adviceView struct{ Items []adviceItem }

type adviceItem struct {
	ID, Title, Subject string
	Facts              []Fact
	Command            string
}

func viewAdvice(_ *pageContext, value any) (any, error) {
	v, err := valueAs[analyze.AdviceList](value)
	if err != nil {
		return nil, err
	}
	var out adviceView
	for i, a := range v.Advice {
		item := adviceItem{ID: fmt.Sprintf("advice-%d", i+1), Title: adviceTitle(a), Subject: a.Subject, Command: a.Command,
			Facts: []Fact{{"Seen", a.Observation}, {"Costs", a.Price}}}
		if a.Caveat != "" {
			item.Facts = append(item.Facts, Fact{"Mind", a.Caveat})
		}
		out.Items = append(out.Items, item)
	}
	return &out, nil
}

// adviceTitle says the turn of the knob: "raise max_num_seqs from 64 to 128".
func adviceTitle(a analyze.Advice) string {
	s := a.Direction + " " + a.Knob
	if a.From != "" {
		s += " from " + a.From
	}
	if a.To != "" {
		s += " to " + a.To
	}
	return upperFirst(s)
}
