package serving

import (
	"fmt"
	"sync"
	"testing"
)

func TestDictIsSafeForConcurrentUse(t *testing.T) {
	d := NewDict("a")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 100 {
				name := fmt.Sprint("n", i%10)
				if got := d.Name(d.Code(name)); got != name {
					t.Errorf("code of %s names %s", name, got)
				}
			}
		})
	}
	wg.Wait()
	if d.Len() != 11 || d.Code("a") != 0 {
		t.Errorf("%d names and a = %d, want 11 and 0", d.Len(), d.Code("a"))
	}
}

func TestOutcomeDictCodesAreOutcomes(t *testing.T) {
	d := NewOutcomeDict()
	for o := range Outcome(NumOutcomes) {
		if d.Code(o.String()) != int32(o) {
			t.Errorf("code of %s is %d, want %d", o, d.Code(o.String()), o)
		}
	}
}

func TestBitmap(t *testing.T) {
	b := NewBitmap(130)
	b.Set(0)
	b.Set(129)
	b.Set(64)
	b.Clear(64)
	if b.Count() != 2 || !b.Get(129) || b.Get(64) || b.Get(1) {
		t.Errorf("bitmap is %b", b)
	}
}

func TestLoadOf(t *testing.T) {
	n, r := Some(int64(8)), Some(2.5)
	for _, tc := range []struct {
		cap       Opt[int64]
		rate      Opt[float64]
		unlimited bool
		want      LoadMode
	}{
		{n, r, false, CappedOpen},
		{n, None[float64](), true, ClosedLoop},
		{n, None[float64](), false, ClosedLoop},
		{None[int64](), r, false, OpenLoop},
		{None[int64](), None[float64](), true, ClosedLoop},
		{None[int64](), None[float64](), false, UnknownLoad},
	} {
		if got := LoadOf(tc.cap, tc.rate, tc.unlimited).Mode; got != tc.want {
			t.Errorf("LoadOf(%v, %v, %v) = %s, want %s", tc.cap, tc.rate, tc.unlimited, got, tc.want)
		}
	}
}
