package samples

// A blockPool is the engine's KV cache: blocks of blockTokens tokens with
// reference counts. A full block is known by a hash of all tokens up to its
// end; one that nobody uses any more keeps its content, stands last in the free
// list and is found again by that hash until it is evicted from the list's
// head. Equal token prefixes, and nothing else, share blocks.
type blockPool struct {
	hash       []uint64 // 0: no known content
	refs       []int32
	next, prev []int32 // the free list, with a sentinel at the end of the arrays
	known      map[uint64]int32
	free       int
}

func newBlockPool(n int) *blockPool {
	p := &blockPool{
		hash: make([]uint64, n), refs: make([]int32, n),
		next: make([]int32, n+1), prev: make([]int32, n+1),
		known: map[uint64]int32{}, free: n,
	}
	for i := range int32(n + 1) {
		p.next[i] = (i + 1) % int32(n+1)
		p.prev[p.next[i]] = i
	}
	return p
}

func (p *blockPool) size() int { return len(p.refs) }

// usage is the share of blocks in use. As in vLLM, blocks that only the prefix
// cache remembers count as free.
func (p *blockPool) usage() float64 { return float64(p.size()-p.free) / float64(p.size()) }

func (p *blockPool) unlink(b int32) {
	p.next[p.prev[b]], p.prev[p.next[b]] = p.next[b], p.prev[b]
	p.free--
}

// take returns the block of known content with one more user.
func (p *blockPool) take(b int32) {
	if p.refs[b] == 0 {
		p.unlink(b)
	}
	p.refs[b]++
}

// alloc returns an unused block, evicting what the cache held longest unused.
func (p *blockPool) alloc() (int32, bool) {
	if p.free == 0 {
		return 0, false
	}
	b := p.next[p.size()]
	p.unlink(b)
	if h := p.hash[b]; h != 0 {
		delete(p.known, h)
		p.hash[b] = 0
	}
	p.refs[b] = 1
	return b, true
}

// release gives up one use of a block.
func (p *blockPool) release(b int32) {
	if p.refs[b]--; p.refs[b] > 0 {
		return
	}
	end := int32(p.size())
	last := p.prev[end]
	p.next[last], p.prev[b] = b, last
	p.next[b], p.prev[end] = end, b
	p.free++
}

// name makes a full block findable, unless another one has its content.
func (p *blockPool) name(b int32, h uint64) {
	if p.hash[b] != 0 {
		return
	}
	if _, ok := p.known[h]; !ok {
		p.known[h] = b
		p.hash[b] = h
	}
}

// A content says what a request's tokens are, as far as equality goes: the
// first shared tokens of a text many requests begin with, then a text of its
// own (a conversation: later turns continue it).
type content struct {
	prefix       uint64 // identity of the shared text
	prefixTokens int
	own          uint64 // identity of the rest
}

// block identifies the tokens of the i-th block alone.
func (c content) block(i int) uint64 {
	switch {
	case (i+1)*blockTokens <= c.prefixTokens:
		return c.prefix
	case i*blockTokens >= c.prefixTokens:
		return c.own
	}
	return mix(c.prefix ^ c.own<<1)
}

// mix is the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// chain extends the hashes of a content's blocks up to n of them: each depends
// on all tokens before it.
func (c content) chain(hashes []uint64, n int) []uint64 {
	for i := len(hashes); i < n; i++ {
		var before uint64
		if i > 0 {
			before = hashes[i-1]
		}
		hashes = append(hashes, mix(before^mix(c.block(i)+uint64(i)))|1)
	}
	return hashes
}
