package render

import "github.com/vreport/vreport/analyze"

// look is how the i-th thing of a chart is drawn, for seriesColor, seriesDash and
// swatch. In a comparison colour and dash say the side: however many runs a side
// has, all of one side look alike, and the legend names each.
func look(h analyze.Half, i int) int {
	switch h {
	case analyze.FirstHalf:
		return 0
	case analyze.SecondHalf:
		return paletteOf + 1 // another colour, and dashed
	}
	return i
}

// symbolOf is a point's shape, which says the side where colours do not.
func symbolOf(h analyze.Half) string {
	if h == analyze.SecondHalf {
		return "triangle"
	}
	return "circle"
}
