package analyze

import "testing"

func TestSharedSelector(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{`x`, `x`, `x`},
		{`x{m="a",pod="1"}`, `x{m="a",pod="2"}`, `x{m="a"}`},
		{`x{pod="1"}`, `x{pod="2"}`, `x`},
		{`x{m="a,b=\"c\",d",pod="1"}`, `x{m="a,b=\"c\",d",pod="2"}`, `x{m="a,b=\"c\",d"}`},
		{`x{m="a"}`, `y{m="a"}`, ``},
		{`{__name__=~"x|y",pod="1"}`, `{__name__=~"x|y",pod="2"}`, `{__name__=~"x|y"}`},
		{`{__name__=~"x|y",pod="1"}`, `{__name__=~"x|z",pod="1"}`, ``},
		{``, `x`, ``},
	} {
		if got := sharedSelector(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %q, want %q", c.a, c.b, got, c.want)
		}
		if got := sharedSelector(c.b, c.a); got != c.want {
			t.Errorf("%s and %s: %q, want %q", c.b, c.a, got, c.want)
		}
	}
}

func TestQuerySpan(t *testing.T) {
	for _, c := range []struct {
		q    querySpan
		want string
	}{
		{querySpan{instant: true}, `x{m="a"}`},
		{querySpan{window: "61s"}, `rate(x{m="a"}[61s])`},
		{querySpan{}, ``},
	} {
		if got := c.q.over("rate", `x{m="a"}`); got != c.want {
			t.Errorf("%+v: %q, want %q", c.q, got, c.want)
		}
	}
	if got := rangeOf(15e9); got != "16s" {
		t.Errorf("15 s are %s, want 16s", got)
	}
}
