// Lets a reader combine values of dimensions: counts, percentiles and shares of
// the cells that are chosen, and of all others, from the histograms that the
// page carries. No value of a request is in the page, only how many lie in each
// bucket; so a percentile is a place in a bucket, and its bounds are known.
(function () {
  'use strict';

  const island = document.getElementById('vr-explore');
  if (!island) return;
  const { specs, unpack, loaded, redraw, formatters, every } = window.vreport.kit;
  const all = new Map(Object.entries(JSON.parse(island.textContent)));
  const percentiles = [0.5, 0.9, 0.95, 0.99, 0.999];
  const count = formatters.int, pct = formatters.pct, factor = (v) => v.toFixed(v < 100 ? 2 : 0);
  const ms = (s) => (s === Infinity ? '∞' : s === -Infinity ? '−∞' : formatters.ms(s * 1000));
  const percentName = (p) => 'p' + String(Math.round(p * 100000) / 1000);

  // Numbers: unsigned LEB128, as cube.Explored.Pack writes them.

  function reader(bytes) {
    let at = 0;
    return () => {
      let v = 0, scale = 1, b;
      do {
        if (at >= bytes.length) throw new Error('the numbers end too early');
        b = bytes[at++];
        v += (b & 127) * scale;
        scale *= 128;
      } while (b > 127);
      return v;
    };
  }

  function parse(spec, bytes) {
    const next = reader(bytes);
    const column = () => Float64Array.from({ length: spec.cells }, next);
    const data = { levels: spec.dims.map(column), sent: column(), outcomes: spec.outcomes.map(column), good: column(), slos: [], metrics: [] };
    spec.slos.forEach(() => data.slos.push({ within: column(), of: column() }));
    spec.metrics.forEach(() => data.metrics.push(Array.from({ length: spec.cells }, () => {
      const bins = [];
      let bucket = 0;
      for (let n = next(); n > 0; n--) { bucket += next(); bins.push(bucket, next()); }
      return bins;
    })));
    return data;
  }

  // Buckets: an octave is cut into 2^bits equal pieces.

  const edge = (spec, i) => {
    const pieces = 2 ** spec.bits;
    return 2 ** (spec.least + Math.floor(i / pieces)) * (1 + (i % pieces) / pieces);
  };

  function bounds(spec, bucket) {
    const i = bucket - spec.regular, regular = spec.octaves * 2 ** spec.bits;
    if (bucket === 0) return [-Infinity, 0];
    if (bucket === 1) return [0, 0];
    if (i < 0) return [0, edge(spec, 0)];
    return [edge(spec, i), i < regular ? edge(spec, i + 1) : Infinity];
  }

  // The sum of some cells.
  function sum(spec, data, metric, chosen) {
    const over = (column) => { let n = 0; for (let i = 0; i < spec.cells; i++) if (chosen[i]) n += column[i]; return n; };
    const counts = new Map();
    let n = 0;
    data.metrics[metric].forEach((bins, i) => {
      if (!chosen[i]) return;
      for (let k = 0; k < bins.length; k += 2) { counts.set(bins[k], (counts.get(bins[k]) || 0) + bins[k + 1]); n += bins[k + 1]; }
    });
    return {
      sent: over(data.sent), outcomes: data.outcomes.map(over), good: over(data.good),
      slos: data.slos.map((s) => ({ within: over(s.within), of: over(s.of) })),
      n: n, bins: Array.from(counts).sort((a, b) => a[0] - b[0]),
    };
  }

  // A type 7 percentile lies between two neighbours in rank: between the low end
  // of the bucket of one and the high end of the bucket of the other. The figure
  // takes the values of a bucket to be spread evenly.
  function percentile(spec, s, p) {
    if (!s.n) return null;
    const h = (s.n - 1) * p, below = Math.floor(h), weight = h - below;
    const at = (rank) => {
      let before = 0;
      for (const [bucket, n] of s.bins) {
        if (rank < before + n) {
          const [lo, hi] = bounds(spec, bucket);
          const f = (rank - before + 0.5) / n;
          return { lo: lo, hi: hi, v: hi === Infinity ? lo : lo === -Infinity ? hi : lo + (hi - lo) * f };
        }
        before += n;
      }
      throw new Error('no such rank');
    };
    const a = at(below), b = weight > 0 ? at(below + 1) : a;
    return { v: a.v + weight * (b.v - a.v), lo: a.lo, hi: b.hi };
  }

  // Wilson's interval of a share, 95 %.
  function share(k, n) {
    if (!n) return null;
    const z = 1.959963984540054, f = k / n, d = 1 + z * z / n;
    const middle = (f + z * z / (2 * n)) / d, half = z / d * Math.sqrt(f * (1 - f) / n + z * z / (4 * n * n));
    return { v: f, lo: Math.max(0, middle - half), hi: Math.min(1, middle + half), k: k, n: n };
  }

  // How far n carries a percentile, as everywhere in the report.
  function mark(n, p) {
    if (p ** n > 0.025 || (1 - p) ** n > 0.025) return ['??', 'too few requests to support this percentile'];
    if (n * Math.min(p, 1 - p) < 10 - 1e-9) return ['?', 'few requests beyond this percentile'];
    return null;
  }

  // The table

  const make = (tag, cls, text) => {
    const e = document.createElement(tag);
    if (cls) e.className = cls;
    if (text !== undefined) e.textContent = text;
    return e;
  };

  function cell(text, sub, raw) {
    const td = make('td', 'num' + (text === '–' ? ' faint' : ''), text);
    if (raw) { td.dataset.v = raw.v; if (raw.lo !== undefined) { td.dataset.lo = raw.lo; td.dataset.hi = raw.hi; } }
    if (sub) { td.appendChild(document.createTextNode(' ')); td.appendChild(make('small', '', sub)); }
    return td;
  }

  const missing = () => cell('–');
  const raw = (v) => (Number.isFinite(v) ? String(Number(v.toPrecision(12))) : '');

  function row(title, sub, cells) {
    const tr = make('tr'), th = make('th', '', title);
    th.scope = 'row';
    if (sub) { th.appendChild(document.createTextNode(' ')); th.appendChild(make('small', '', sub)); }
    tr.append(th, ...cells);
    return tr;
  }

  const countCell = (n, of) => cell(count(n), of ? pct(n / of) : '', { v: raw(n) });

  function shareCell(s) {
    if (!s) return missing();
    return cell(pct(s.v), count(s.k) + ' of ' + count(s.n) + ', ' + pct(s.lo) + ' – ' + pct(s.hi), { v: raw(s.v), lo: raw(s.lo), hi: raw(s.hi) });
  }

  function shareDifference(a, b) {
    if (!a || !b) return missing();
    const d = (a.v - b.v) * 100, apart = a.lo > b.hi || a.hi < b.lo;
    return cell((d > 0 ? '+' : d < 0 ? '−' : '') + Math.abs(d).toFixed(1) + ' points', apart ? '' : 'intervals overlap', { v: raw(d) });
  }

  function percentileCell(q, n, p) {
    if (!q) return missing();
    const td = cell(ms(q.v), ms(q.lo) + ' – ' + ms(q.hi), { v: raw(q.v * 1000), lo: raw(q.lo * 1000), hi: raw(q.hi * 1000) });
    const m = mark(n, p);
    if (m) { const e = make('span', 'mark', m[0]); e.title = m[1]; td.insertBefore(e, td.childNodes[1] || null); }
    return td;
  }

  function ratioCell(a, b) {
    if (!a || !b || !(b.v > 0) || !(b.lo > 0)) return missing();
    const lo = a.lo / b.hi, hi = a.hi / b.lo;
    return cell(factor(a.v / b.v) + ' ×', lo <= 1 && hi >= 1 ? 'alike within the error' : factor(lo) + ' – ' + factor(hi), { v: raw(a.v / b.v), lo: raw(lo), hi: raw(hi) });
  }

  function rows(spec, metric, a, b) {
    const total = a.sent + b.sent, out = [];
    out.push(row('Sent', 'share of all', [countCell(a.sent, total), countCell(b.sent, total), missing()]));
    spec.outcomes.forEach((name, o) => {
      if (!a.outcomes[o] && !b.outcomes[o]) return;
      const x = share(a.outcomes[o], a.sent), y = share(b.outcomes[o], b.sent);
      out.push(row(o === 0 ? 'Completed' : name, 'of sent', [countCell(a.outcomes[o], a.sent), countCell(b.outcomes[o], b.sent), shareDifference(x, y)]));
    });
    const shares = (title, sub, x, y) => out.push(row(title, sub, [shareCell(x), shareCell(y), shareDifference(x, y)]));
    if (spec.good) shares(spec.good, 'of sent', share(a.good, a.sent), share(b.good, b.sent));
    spec.slos.forEach((expr, i) => {
      const x = a.slos[i], y = b.slos[i];
      if (x.of || y.of) shares(expr, 'within the limit', share(x.within, x.of), share(y.within, y.of));
    });
    const title = spec.metrics[metric].title;
    out.push(row(title + ' n', 'values', [countCell(a.n), countCell(b.n), missing()]));
    percentiles.forEach((p) => {
      const x = percentile(spec, a, p), y = percentile(spec, b, p);
      const tr = row(title + ' ' + percentName(p), '', [percentileCell(x, a.n, p), percentileCell(y, b.n, p), ratioCell(x, y)]);
      tr.cells[0].dataset.v = title + ' ' + percentName(p) + ' [ms]'; // what CSV says, whose numbers are raw
      out.push(tr);
    });
    return out;
  }

  // The charts: points go into the options that the page has for them.

  function range(spec, sums) {
    let lo = Infinity, hi = 0;
    sums.forEach((s) => {
      if (!s.n) return;
      const first = s.bins.find(([bucket]) => bounds(spec, bucket)[0] > 0);
      if (first) lo = Math.min(lo, bounds(spec, first[0])[0]);
      const top = percentile(spec, s, 0.999).hi;
      if (top < Infinity) hi = Math.max(hi, top);
    });
    return lo < hi ? [lo, hi] : [0, hi || 1];
  }

  function nice(v, up) {
    const e = 10 ** Math.floor(Math.log10(v));
    return up ? e * [1, 2, 5, 10].find((m) => v <= m * e * 1.0001) : e * [5, 2, 1].find((m) => v >= m * e * 0.9999);
  }

  function drawCDF(spec, option, title, sums, lo, hi) {
    const log = lo > 0 && hi / lo > 4, x = option.xAxis[0];
    x.type = log ? 'log' : 'value';
    x.name = title + (log ? ', logarithmic' : '');
    x.min = log ? nice(lo * 1000, false) : Math.max(0, lo - (hi - lo) * 0.04) * 1000;
    x.max = log ? nice(hi * 1000, true) : (hi + (hi - lo) * 0.04) * 1000;
    sums.forEach((s, k) => {
      const points = [];
      let before = 0;
      s.bins.forEach(([bucket, n], i) => {
        const [from, to] = bounds(spec, bucket);
        if (i === 0 && (from > 0 || !log)) points.push([Math.max(from, 0) * 1000, 0]);
        before += n;
        if (to < Infinity && (to > 0 || !log)) points.push([to * 1000, before / s.n]);
      });
      option.series[k].data = points;
    });
  }

  const maxBars = 40;

  // Bars are neighbouring buckets taken together, 2, 4, 8, … of them.
  function drawHistogram(spec, option, title, sums, lo, hi) {
    const index = (s) => s.bins.map(([b, n]) => [b - spec.regular, n]);
    const last = (v) => { const e = Math.floor(Math.log2(v)), f = v / 2 ** e - 1; return (e - spec.least) * 2 ** spec.bits + Math.ceil(f * 2 ** spec.bits) - 1; };
    const from = lo > 0 ? last(lo) + 1 : 0, to = Math.max(from, last(hi));
    let shift = 0;
    while ((to >> shift) - (from >> shift) >= maxBars) shift++;
    const first = from >> shift, bars = (to >> shift) - first + 1;
    const at = (i) => edge(spec, (first + i) << shift);
    option.xAxis[0].name = title + ', from this value on';
    option.xAxis[0].data = Array.from({ length: bars }, (_, i) => ms(Number(at(i).toPrecision(2))));
    sums.forEach((s, k) => {
      const totals = new Array(bars).fill(0);
      index(s).forEach(([i, n]) => { const b = Math.max(0, (i >> shift) - first); if (b < bars) totals[b] += n; });
      option.series[k].data = s.n ? totals.map((n, i) => [i, n / s.n, at(i) * 1000, at(i + 1) * 1000]) : [];
    });
  }

  // The controls

  function start(root, spec, data) {
    const boxes = every('input[type=checkbox]', root);
    const byDim = spec.dims.map((_, d) => boxes.filter((b) => Number(b.dataset.dim) === d));
    const metric = root.querySelector('select');
    const status = root.querySelector('[role=status]');
    const body = root.querySelector('table').tBodies[0];
    const chart = root.querySelector('.chart');
    const total = data.sent.reduce((x, y) => x + y, 0);

    // What a value would bring: the requests that the other dimensions leave.
    function facets(on) {
      byDim.forEach((list, d) => {
        const n = new Array(list.length).fill(0);
        for (let i = 0; i < spec.cells; i++) {
          if (on.every((o, e) => e === d || o[data.levels[e][i]])) n[data.levels[d][i]] += data.sent[i];
        }
        list.forEach((b, v) => { b.closest('label').querySelector('small').textContent = count(n[v]); });
      });
    }

    function update() {
      const on = byDim.map((list) => list.map((b) => b.checked));
      const chosen = Array.from({ length: spec.cells }, (_, i) => on.every((o, d) => o[data.levels[d][i]]));
      const m = metric.selectedIndex;
      const a = sum(spec, data, m, chosen), b = sum(spec, data, m, chosen.map((c) => !c));
      status.textContent = a.sent === total ? 'All ' + count(total) + ' requests are selected.'
        : !a.sent ? 'No request is selected.' : count(a.sent) + ' of ' + count(total) + ' requests are selected (' + pct(a.sent / total) + ').';
      body.replaceChildren(...rows(spec, m, a, b));
      facets(on);
      if (!chart) return;
      const options = specs.get(chart.dataset.chart).variants, [lo, hi] = range(spec, [a, b]), title = spec.metrics[m].title;
      drawCDF(spec, options.cdf, title, [a, b], lo, hi);
      drawHistogram(spec, options.hist, title, [a, b], lo, hi);
      redraw(chart);
    }

    root.addEventListener('change', (e) => { if (e.target.matches('input[type=checkbox], select')) update(); });
    root.addEventListener('click', (e) => {
      const b = e.target.closest('button[data-pick]');
      if (!b) return;
      const list = b.dataset.dim === undefined ? boxes : byDim[Number(b.dataset.dim)];
      list.forEach((x) => { x.checked = b.dataset.pick === 'all'; });
      update();
    });
    update();
  }

  every('[data-explore]').forEach((root) => {
    const spec = all.get(root.dataset.explore);
    Promise.all([unpack(spec.data).arrayBuffer(), loaded()]).then(([bytes]) => {
      start(root, spec, parse(spec, new Uint8Array(bytes)));
      root.dataset.state = 'ready';
    }).catch((e) => {
      root.dataset.state = 'failed';
      root.querySelector('[role=status]').textContent = 'This browser cannot unpack the histograms: the tables above show each dimension alone.';
      console.warn(e);
    });
  });
})();
