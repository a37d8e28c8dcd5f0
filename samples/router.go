package samples

// A router chooses the replica of a request.
type router func(st *stage, q *request) *server

// leastLoaded takes the replica with the fewest requests inside, the first of
// equals.
func leastLoaded(st *stage, _ *request) *server {
	best := st.servers[0]
	for _, s := range st.servers[1:] {
		if s.inside < best.inside {
			best = s
		}
	}
	return best
}

// stickyTenant sends all requests of a tenant to the same replica.
func stickyTenant(st *stage, q *request) *server {
	return st.servers[q.tenant%len(st.servers)]
}

// switchAt sends to the first replica before an instant and to the second from
// then on: a roll-out.
func switchAt(t int64) router {
	return func(st *stage, _ *request) *server {
		if st.w.now < t {
			return st.servers[0]
		}
		return st.servers[1]
	}
}
