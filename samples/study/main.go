package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/ingest"
	"github.com/vreport/vreport/samples"
)

func main() {
	from := flag.Uint64("from", 1, "")
	to := flag.Uint64("to", 1, "")
	dir := flag.String("dir", "out/study", "")
	only := flag.String("only", "", "")
	kinds := flag.String("kinds", "all", "")
	keys := flag.String("keys", "", "")
	flag.Parse()
	for seed := *from; seed <= *to; seed++ {
		base := filepath.Join(*dir, fmt.Sprint(seed))
		if _, err := os.Stat(base); err != nil {
			all, err := samples.Scenarios(seed)
			if err != nil {
				panic(err)
			}
			for _, s := range all {
				for name, data := range s.Files {
					p := filepath.Join(base, s.Name, name)
					os.MkdirAll(filepath.Dir(p), 0o755)
					os.WriteFile(p, data, 0o644)
				}
				os.WriteFile(filepath.Join(base, s.Name+".cause"), []byte(s.Cause), 0o644)
			}
		}
		causes, _ := filepath.Glob(base + "/*.cause")
		for _, c := range causes {
			name := strings.TrimSuffix(filepath.Base(c), ".cause")
			if *only != "" && !strings.Contains(","+*only+",", ","+name+",") {
				continue
			}
			for _, kind := range strings.Split(*kinds, ",") {
				d := filepath.Join(base, name)
				paths := []string{d}
				switch kind {
				case "trace":
					paths = []string{d + "/requests.parquet"}
				case "scrapes":
					paths = []string{d + "/metrics"}
					if _, err := os.Stat(d + "/gpu"); err == nil {
						paths = append(paths, d+"/gpu")
					}
				case "bench":
					paths = []string{d + "/client"}
				case "log":
					paths, _ = filepath.Glob(d + "/*.log")
				}
				ds, err := ingest.Load(context.Background(), paths, ingest.Options{})
				if err != nil {
					fmt.Println(name, kind, err)
					continue
				}
				facts, notes, err := analyze.DumpFacts(context.Background(), ds)
				ds.Close()
				if err != nil {
					fmt.Println(name, kind, err)
					continue
				}
				fmt.Printf("== %d %s %s: %d\n", seed, name, kind, len(facts))
				if *keys == "" {
					for _, n := range notes {
						fmt.Println("   ", n)
					}
				}
				for _, f := range facts {
					var ks []string
					for k := range f {
						ks = append(ks, string(k))
					}
					sort.Strings(ks)
					for _, k := range ks {
						if *keys == "" || slices.Contains(strings.Split(*keys, ","), k) {
							fmt.Printf(" %s=%.3g", k, f[analyzeKey(k)].Value)
						}
					}
					fmt.Println()
				}
			}
		}
	}
}

type analyzeKeyT = rules.Key

func analyzeKey(k string) rules.Key { return rules.Key(k) }
