package render

import (
	"fmt"
	"strings"

	"github.com/vreport/vreport/analyze"
)

// maxSame is how many facts are named one by one.
const maxSame = 12

// unchanged says that nothing was found to differ, which is not that nothing does.
const unchanged = "No difference is stated."

// sameText says what was found to be the same on both sides and what was not compared,
// so that nobody takes what no file states for equal.
func sameText(c *analyze.Comparison) string {
	if c.SameFiles {
		return "Both sides are the same files."
	}
	text := "The files state nothing that is the same on both sides."
	if same := sameFacts(c); len(same) > 0 {
		text = "The same on both sides, as far as the files say: " + strings.Join(same, ", ") + "."
	}
	if missing := missingFacts(c); len(missing) > 0 {
		text += " Not stated, so not compared: " + strings.Join(missing, ", ") + "."
	}
	return text
}

// sameFacts names what is the same; of settings, which are many, their number.
func sameFacts(c *analyze.Comparison) []string {
	var out []string
	settings := 0
	for _, x := range c.Same {
		switch {
		case x.Kind == analyze.ChangedSetting:
			settings++
		case x.Before != x.After:
			out = append(out, fmt.Sprintf("%s within chance (%s against %s)", x.Key, x.Before, x.After))
		default:
			out = append(out, x.Key)
		}
	}
	out = firstOf(out)
	if settings > 0 {
		out = append(out, countOf(settings, "setting"))
	}
	return out
}

// missingFacts names what was not compared, and where it is missing if that is on one
// side.
func missingFacts(c *analyze.Comparison) []string {
	var out []string
	for _, x := range c.NotStated {
		switch {
		case x.Before == x.After:
			out = append(out, x.Key)
		case x.After == analyze.NotStated:
			out = append(out, x.Key+" in "+c.Sides[1].Name)
		default:
			out = append(out, x.Key+" in "+c.Sides[0].Name)
		}
	}
	return firstOf(out)
}

// firstOf cuts a list off and says by how much.
func firstOf(list []string) []string {
	if n := len(list) - maxSame; n > 0 {
		return append(list[:maxSame:maxSame], fmt.Sprintf("%d more", n))
	}
	return list
}
