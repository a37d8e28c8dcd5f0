package prom

import "bytes"

// FormatOpenMetrics is the contract's name of the OpenMetrics text format, which
// Parse reads as well as the older one.
const FormatOpenMetrics = "openmetrics"

// SniffOpenMetrics reports whether a scrape is OpenMetrics and not the older text
// format: it says # EOF or # UNIT, has types or exemplars that only OpenMetrics
// has, or names a counter's family without the _total of its samples.
func SniffOpenMetrics(head []byte) (ok bool, why string) {
	if !Sniff(head) {
		return false, "no samples of an exporter at the start"
	}
	const limit = 1 << 20
	counters := map[string]bool{}
	for rest := head[:min(len(head), limit)]; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		line = trimEnd(line)
		if len(line) == 0 {
			continue
		}
		if line[0] != '#' {
			if isOpenSample(line, counters) {
				return true, ""
			}
			continue
		}
		if string(line) == "# EOF" || bytes.HasPrefix(line, []byte("# UNIT ")) {
			return true, ""
		}
		switch family, kind, ok := metaComment(line); {
		case !ok || kind == "":
		case kind == "unknown", kind == "info", kind == "stateset", kind == "gaugehistogram":
			return true, ""
		case kind == "counter" && !bytes.HasSuffix([]byte(family), []byte("_total")):
			counters[family+"_total"] = true
		}
	}
	return false, "no # EOF, # UNIT, exemplar or type that OpenMetrics alone has"
}

// isOpenSample reports a sample with an exemplar, or of a counter whose family was
// named without its _total.
func isOpenSample(line []byte, counters map[string]bool) bool {
	n := seriesEnd(line)
	if n < 0 {
		return false
	}
	if r, err := parseReading(line[n:]); err != nil || r.exemplar && bytes.Contains(line[n:], []byte("# {")) {
		return err == nil
	}
	name, _, _ := bytes.Cut(line[:n], []byte("{"))
	return counters[string(bytes.TrimSpace(name))]
}
