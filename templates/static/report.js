// The report's one script. It mounts the charts, and makes tables sort and
// copy; the page is complete without it.
//
// Nothing in the data is ever code. Chart options come from an island of packed
// JSON (they repeat themselves, and were an eighth of a page) and
// name their formatters ("fmt:ms"), which are looked up in the lists below;
// colours are style sheet tokens ("var(--k1)"), resolved when a chart is drawn,
// so that one set of options serves light, dark and print. Series are called
// s0, s1, …; what people read is in `names` and reaches the page as text only.
(function () {
  'use strict';

  const root = document.documentElement;
  root.classList.add('js');
  const byId = (id) => document.getElementById(id);
  const every = (selector, within) => Array.from((within || document).querySelectorAll(selector));
  const specs = new Map(); // filled once the options are unpacked

  // Numbers, as render/format.go prints them.

  const plain = (digits) => new Intl.NumberFormat('en-US', { maximumFractionDigits: digits });
  const n0 = plain(0), n1 = plain(1), n2 = plain(2);
  const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
  const two = (n) => (n < 10 ? '0' : '') + n;
  const none = (f) => (v) => (v === null || v === undefined || Number.isNaN(v) ? '–' : f(v));

  function milliseconds(v) {
    const a = Math.abs(v);
    if (a >= 1000) return n2.format(v / 1000) + ' s';
    return (a < 10 ? n2 : a < 100 ? n1 : n0).format(v) + ' ms';
  }

  function bytes(v) {
    const units = ['B', 'kB', 'MB', 'GB', 'TB'];
    let i = 0;
    while (Math.abs(v) >= 1000 && i < units.length - 1) { v /= 1000; i++; }
    return n1.format(v) + ' ' + units[i];
  }

  function utc(v) {
    const d = new Date(v), s = d.getUTCSeconds();
    if (d.getUTCHours() + d.getUTCMinutes() + s === 0) return two(d.getUTCMonth() + 1) + '-' + two(d.getUTCDate());
    return two(d.getUTCHours()) + ':' + two(d.getUTCMinutes()) + (s ? ':' + two(s) : '');
  }

  function elapsed(v) {
    const s = Math.round(v / 1000), h = Math.floor(s / 3600);
    return (h ? h + ':' + two(Math.floor(s / 60) % 60) : Math.floor(s / 60)) + ':' + two(s % 60);
  }

  const counted = (v) => 'slice ' + n0.format(Math.round(v / 1000));

  const axisValue = (f) => (p) => f(p.value);
  const formatters = {
    ms: none(milliseconds),
    bytes: none(bytes),
    compact: none((v) => compact.format(v)),
    int: none((v) => n0.format(v)),
    num: none((v) => n2.format(v)),
    pct: none((v) => n1.format(v * 100) + ' %'),
    change: none((v) => (v > 0 ? '+' : v < 0 ? '\u2212' : '') + n0.format(Math.abs(v)) + ' %'),
    pct0: none((v) => n0.format(v * 100) + ' %'),
    rate: none((v) => (Math.abs(v) >= 1000 ? compact : n2).format(v) + '/s'),
    utc: utc,
    elapsed: elapsed,
    utcPointer: axisValue((v) => new Date(v).toISOString().slice(0, 19).replace('T', ' ') + ' UTC'),
    elapsedPointer: axisValue(elapsed),
    counted: (v) => (v % 1000 ? '' : n0.format(v / 1000)),
    countedPointer: axisValue(counted),
    msPointer: axisValue(milliseconds),
  };

  // Tooltips. Everything that is not a number of ours is escaped.

  const escape = (s) => String(s).replace(/[&<>"'`]/g, (c) => '&#' + c.charCodeAt(0) + ';');
  const line = (marker, key, value) => '<div>' + marker + escape(key) + '&ensp;<b>' + escape(value) + '</b></div>';
  const head = (s) => '<b>' + escape(s) + '</b>';
  const marker = (p) => (typeof p.color === 'string' && /^[#a-z0-9(),. %]+$/i.test(p.color)
    ? '<span style="display:inline-block;margin-right:6px;width:9px;height:9px;border-radius:50%;background:' + p.color + '"></span>' : '');

  const tooltips = {
    // A point that has its own lines, formatted in Go.
    point: (spec) => (p) => {
      const tip = p.data && spec.tips[p.data.tip];
      return tip ? head(tip.title) + (tip.lines || []).map((t) => line('', t[0], t[1])).join('') : '';
    },
    // Points of several series at one place of the x axis.
    level: (spec) => (ps) => (ps.length ? head(ps[0].data.title) : '') + ps.map((p) => line(marker(p), name(spec, p), p.data.text)).join(''),
    cdf: (spec) => (ps) => ps.map((p) => line(marker(p), name(spec, p), formatters.pct(p.value[1]) + ' within ' + formatters.ms(p.value[0]))).join(''),
    bins: (spec) => (ps) => (ps.length ? head(formatters.ms(ps[0].value[2]) + ' – ' + formatters.ms(ps[0].value[3])) : '') +
      ps.map((p) => line(marker(p), name(spec, p), formatters.pct(p.value[1]))).join(''),
    time: (spec) => (ps) => {
      if (!ps.length) return '';
      const t = ps[0].value[0];
      const when = spec.time.counted ? counted(t) : spec.time.relative ? elapsed(t) : new Date(t).toISOString().slice(0, 19).replace('T', ' ') + ' UTC';
      return head(when) + ps.slice().sort((a, b) => a.seriesIndex - b.seriesIndex).map((p) => line(marker(p), name(spec, p), pick(formatters, spec.formats[p.seriesIndex])(p.value[1]))).join('');
    },
  };

  const name = (spec, p) => spec.names[Number(String(p.seriesName).slice(1))];
  const pick = (list, key) => {
    if (!Object.prototype.hasOwnProperty.call(list, key)) throw new Error('unknown formatter ' + key);
    return list[key];
  };

  // Options: resolve tokens and names, under the keys where we put them only.

  const colorKey = /color$/i;
  const formatKey = /^(formatter|valueFormatter)$/;

  function resolve(value, key, env) {
    if (typeof value === 'string') {
      if (colorKey.test(key) && value.startsWith('var(')) return env.css.getPropertyValue(value.slice(4, -1)).trim();
      if (formatKey.test(key) && value.startsWith('fmt:')) return pick(formatters, value.slice(4));
      if (formatKey.test(key) && value.startsWith('tip:')) return pick(tooltips, value.slice(4))(env.spec);
      return value;
    }
    if (Array.isArray(value)) return typeof value[0] === 'number' ? value : value.map((v) => resolve(v, key, env));
    if (value && typeof value === 'object') {
      const out = {};
      for (const k of Object.keys(value)) out[k] = resolve(value[k], k, env);
      return out;
    }
    return value;
  }

  function option(el) {
    const spec = specs.get(el.dataset.chart);
    const css = getComputedStyle(root);
    const token = (t) => css.getPropertyValue(t).trim();
    const chosen = spec.variants ? spec.variants[el.dataset.variant || spec.first] : spec.option;
    const out = resolve(spec.narrow && isNarrow(el) ? merge(chosen, spec.narrow) : chosen, '', { css: css, spec: spec });
    out.animation = false; // a report is read, not watched
    out.useUTC = true;
    out.backgroundColor = 'transparent';
    out.textStyle = { fontFamily: getComputedStyle(document.body).fontFamily, color: token('--ink-2') };
    out.legend = { show: false, selected: selection(el.dataset.chart) };
    out.tooltip = Object.assign({}, out.tooltip, {
      backgroundColor: token('--tip'), borderColor: token('--line'), confine: true, transitionDuration: 0,
      textStyle: { color: token('--ink'), fontSize: 13 },
      extraCssText: 'max-width:min(420px,86vw);white-space:normal;overflow-wrap:anywhere',
    });
    if (spec.time) {
      out.series.forEach((s) => { if (s.data) s.data = s.data.map((v, i) => [spec.time.from + i * spec.time.step, v]); });
    }
    return out;
  }

  const isNarrow = (el) => el.clientWidth < 520;

  // Lays a patch over an option, lists by position.
  function merge(base, patch) {
    if (Array.isArray(base) && Array.isArray(patch)) return base.map((b, i) => (i < patch.length ? merge(b, patch[i]) : b));
    if (!base || !patch || typeof base !== 'object' || typeof patch !== 'object') return patch;
    const out = Object.assign({}, base);
    Object.keys(patch).forEach((k) => { out[k] = merge(base[k], patch[k]); });
    return out;
  }

  // Which series are drawn: the pressed buttons of the legend above a chart.
  function selection(chart) {
    const out = {};
    every('.legend button').forEach((b) => {
      if (b.dataset.charts.split(' ').includes(chart)) out[b.dataset.series] = b.getAttribute('aria-pressed') === 'true';
    });
    return out;
  }

  // Charts

  const live = new Map();
  const charts = () => every('.chart[data-chart]');

  function mount(el) {
    if (live.has(el) || !specs.has(el.dataset.chart) || !el.clientWidth) return;
    try {
      const chart = window.echarts.init(el, null, { renderer: 'canvas' });
      live.set(el, chart);
      chart.setOption(option(el));
      el.setAttribute('role', 'img');
    } catch (e) {
      el.textContent = '';
      const p = document.createElement('div');
      p.className = 'err';
      p.textContent = 'This chart could not be drawn. Its data is in the table below.';
      el.appendChild(p);
      console.error(e);
    }
  }

  // A chart that becomes narrow, or wide again, has another layout.
  function fit(el) {
    if (!el.clientWidth) return; // hidden: it keeps its size until it shows again
    const chart = live.get(el), narrow = chart.getWidth() < 520;
    chart.resize();
    if (narrow !== isNarrow(el) && specs.get(el.dataset.chart).narrow) redraw(el);
  }

  function redraw(el) {
    if (live.has(el)) live.get(el).setOption(option(el), true);
  }

  function start() {
    const resized = new ResizeObserver((entries) => entries.forEach((e) => {
      if (live.has(e.target)) fit(e.target);
      else if (e.contentRect.width && near(e.target)) mount(e.target);
    }));
    const near = (el) => { const r = el.getBoundingClientRect(); return r.top < innerHeight + 600 && r.bottom > -600; };
    const seen = new IntersectionObserver((entries) => entries.forEach((e) => {
      if (e.isIntersecting) { seen.unobserve(e.target); mount(e.target); }
    }), { rootMargin: '600px 0px' });
    charts().forEach((el) => { seen.observe(el); resized.observe(el); });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => charts().forEach(redraw));
    addEventListener('beforeprint', () => { root.dataset.before = root.dataset.theme; root.dataset.theme = 'light'; charts().forEach(mount); charts().forEach(redraw); });
    addEventListener('afterprint', () => { root.dataset.theme = root.dataset.before || 'auto'; charts().forEach(redraw); });
    root.dataset.charts = 'ready';
  }

  // For tests and curious readers: draw what is still below the fold.
  window.vreport = {
    mountAll: () => { every('details').forEach((d) => { d.open = true; }); charts().forEach(mount); return live.size; },
    instances: () => Array.from(live.values()),
    kit: { specs: specs, unpack: unpack, loaded: () => loaded, redraw: redraw, formatters: formatters, every: every }, // for explore.js
  };

  function withoutCharts(why) {
    root.classList.add('no-charts');
    every('figure details.data').forEach((d) => { d.open = true; });
    const p = byId('chart-note');
    if (p) { p.hidden = false; p.textContent = why; }
  }

  // What is long stands in the page as gzip in base64.
  function unpack(base64) {
    const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip')));
  }

  const island = (el) => unpack(JSON.parse(el.textContent));

  async function options() {
    Object.entries(await island(byId('vr-charts')).json()).forEach(([id, spec]) => specs.set(id, spec));
    showPressed(); // the figures that have no such variant are known only now
  }

  // The library, unpacked, is an inline script, which the content security
  // policy allows by its hash.
  async function library() {
    if (window.echarts) return true;
    const packed = byId('vr-lib');
    if (!packed) return false;
    const script = document.createElement('script');
    script.textContent = await island(packed).text();
    document.head.appendChild(script);
    return Boolean(window.echarts);
  }

  const loaded = charts().length ? options() : Promise.resolve();
  if (charts().length) {
    loaded.then(library).then(
      (ok) => (ok ? start() : withoutCharts('The chart library is not in this page, or was blocked: tables show the data instead.')),
      (e) => { withoutCharts('This browser cannot unpack the chart library: tables show the data instead.'); console.warn(e); },
    );
  }

  // Theme

  const themes = ['auto', 'light', 'dark'];
  const themeButton = byId('theme');

  function setTheme(theme) {
    root.dataset.theme = theme;
    themeButton.setAttribute('aria-label', 'Colour theme: ' + theme);
    themeButton.title = 'Colour theme: ' + theme;
    charts().forEach(redraw);
  }

  themeButton.addEventListener('click', () => setTheme(themes[(themes.indexOf(root.dataset.theme) + 1) % 3]));

  // Switches: a group's charts and panels show one variant at a time.

  function show(group, variant) {
    every('.seg button').forEach((b) => { if (b.dataset.group === group) b.setAttribute('aria-pressed', String(b.dataset.variant === variant)); });
    every('[data-panel]').forEach((el) => { if (el.dataset.group === group) el.hidden = el.dataset.panel !== variant; });
    charts().forEach((el) => {
      if (el.dataset.group !== group) return;
      const spec = specs.get(el.dataset.chart);
      if (!spec || !spec.variants) return;
      const has = Object.prototype.hasOwnProperty.call(spec.variants, variant);
      el.closest('figure').hidden = !has;
      if (!has) return;
      el.dataset.variant = variant;
      mountIfReady(el);
      redraw(el);
    });
  }

  const mountIfReady = (el) => { if (window.echarts) mount(el); };

  function showPressed() {
    every('.seg').forEach((seg) => {
      const first = seg.querySelector('[aria-pressed=true]');
      if (first) show(first.dataset.group, first.dataset.variant);
    });
  }

  showPressed();

  document.addEventListener('click', (e) => {
    const b = e.target.closest('.seg button, .legend button');
    if (!b) return;
    if (b.closest('.seg')) {
      show(b.dataset.group, b.dataset.variant);
      remember(b.dataset.group + '=' + b.dataset.variant);
      return;
    }
    b.setAttribute('aria-pressed', String(b.getAttribute('aria-pressed') !== 'true'));
    b.dataset.charts.split(' ').forEach((id) => charts().forEach((el) => { if (el.dataset.chart === id) redraw(el); }));
  });

  // The address keeps the view: #section, #figure, or #group=variant.

  function remember(hash) {
    try { history.replaceState(null, '', '#' + hash); } catch (e) { /* some viewers forbid it */ }
  }

  function openHash() {
    let hash = location.hash.slice(1);
    try { hash = decodeURIComponent(hash); } catch (e) { return; }
    const at = hash.indexOf('=');
    if (at > 0) {
      const b = every('.seg button').find((x) => x.dataset.group === hash.slice(0, at) && x.dataset.variant === hash.slice(at + 1));
      if (b) { show(b.dataset.group, b.dataset.variant); b.scrollIntoView({ block: 'center' }); }
      return;
    }
    const el = hash && byId(hash);
    if (!el) return;
    if (el.tagName === 'DETAILS') el.open = true;
    for (let d = el.closest('details'); d; d = d.parentElement.closest('details')) d.open = true;
    el.scrollIntoView();
  }

  addEventListener('hashchange', openHash);
  openHash();

  // Tables: sort by any column, copy as Markdown, save as CSV.

  const squash = (s) => s.replace(/\s+/g, ' ').trim();

  function cellText(cell) {
    const copy = cell.cloneNode(true);
    const subs = every('small', copy).map((s) => { s.remove(); return squash(s.textContent); }).filter(Boolean);
    every('.vh', copy).forEach((s) => s.remove());
    return squash(copy.textContent) + (subs.length ? ' (' + subs.join(', ') + ')' : '');
  }

  const headRow = (table) => Array.from(table.tHead.rows[table.tHead.rows.length - 1].cells);
  const body = (table) => Array.from(table.tBodies[0].rows);
  const number = (cell) => (cell.dataset.v === undefined || cell.dataset.v === '' ? NaN : Number(cell.dataset.v));

  // Sorted down, values that are missing stay last.
  function compare(a, b, up) {
    const x = number(a), y = number(b);
    if (!Number.isNaN(x) && !Number.isNaN(y)) return up ? x - y : y - x;
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
    const d = a.textContent.localeCompare(b.textContent, 'en', { numeric: true });
    return up ? d : -d;
  }

  every('table[data-sortable]').forEach((table) => headRow(table).forEach((th, i) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'sort';
    while (th.firstChild) button.appendChild(th.firstChild);
    th.appendChild(button);
    button.addEventListener('click', () => {
      const up = th.getAttribute('aria-sort') !== 'ascending';
      headRow(table).forEach((other) => other.removeAttribute('aria-sort'));
      th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      body(table).sort((a, b) => compare(a.cells[i], b.cells[i], up)).forEach((tr) => table.tBodies[0].appendChild(tr));
    });
  }));

  // A table that is wider than its place says so.
  const wide = new ResizeObserver((entries) => entries.forEach((e) => {
    const box = e.target.closest('.tbl');
    if (box.clientWidth) box.classList.toggle('wide', box.scrollWidth > box.clientWidth + 1);
  }));
  every('.tbl').forEach((box) => { wide.observe(box); wide.observe(box.querySelector('table')); });

  // Group headers ("TTFT" over p50 and p99) go into the column's name.
  function columnNames(table) {
    const groups = [];
    if (table.tHead.rows.length > 1) {
      Array.from(table.tHead.rows[0].cells).forEach((th) => { for (let i = 0; i < th.colSpan; i++) groups.push(squash(th.textContent)); });
    }
    return headRow(table).map((th, i) => squash([groups[i] || '', cellText(th)].join(' ')));
  }

  function markdown(table) {
    const row = (cells) => '| ' + cells.map((c) => c.replace(/\\/g, '\\\\').replace(/\|/g, '\\|').replace(/</g, '&lt;').replace(/@/g, '&#64;')).join(' | ') + ' |';
    const rule = '|' + headRow(table).map((th) => (th.classList.contains('num') ? '---:' : '---')).join('|') + '|';
    return [row(columnNames(table)), rule].concat(body(table).map((tr) => row(Array.from(tr.cells).map(cellText)))).join('\n') + '\n';
  }

  // Raw numbers in the unit of the column head, bounds of intervals in columns
  // of their own, and nothing that a spreadsheet would take for a formula.
  function csv(table) {
    const cells = (r) => Array.from(r.cells);
    const bounds = headRow(table).map((_, i) => body(table).some((r) => r.cells[i] && r.cells[i].dataset.lo !== undefined));
    const quote = (s) => '"' + (/^[=+\-@\t\r]/.test(s) && Number.isNaN(Number(s)) ? "'" + s : s).replace(/"/g, '""') + '"';
    const spread = (values) => values.flatMap((v, i) => (bounds[i] ? v : v.slice(0, 1))).map(quote).join(',');
    const names = columnNames(table);
    const heads = headRow(table).map((th, i) => {
      const n = names[i] + (th.dataset.unit ? ' [' + th.dataset.unit + ']' : '');
      return [n, n + ' low', n + ' high'];
    });
    const value = (c) => [c.dataset.v !== undefined ? c.dataset.v : cellText(c), c.dataset.lo || '', c.dataset.hi || ''];
    return [spread(heads)].concat(body(table).map((r) => spread(cells(r).map(value)))).join('\r\n') + '\r\n';
  }

  function save(text, type, file) {
    const a = document.createElement('a');
    a.href = URL.createObjectURL(new Blob([text], { type: type }));
    a.download = file;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  }

  function copy(text, button) {
    const label = button.textContent;
    const done = () => { button.textContent = 'Copied'; setTimeout(() => { button.textContent = label; }, 1500); };
    const select = () => {
      const area = document.createElement('textarea');
      area.value = text;
      document.body.appendChild(area);
      area.select();
      document.execCommand('copy');
      area.remove();
      done();
    };
    if (navigator.clipboard && isSecureContext) navigator.clipboard.writeText(text).then(done, select);
    else select();
  }

  document.addEventListener('click', (e) => {
    const b = e.target.closest('[data-copy], [data-csv], [data-json]');
    if (!b) return;
    if (b.dataset.json !== undefined) save(byId('vreport-data').textContent, 'application/json', 'vreport.json');
    else if (b.dataset.csv) save(csv(byId(b.dataset.csv)), 'text/csv', b.dataset.csv + '.csv');
    else copy(markdown(byId(b.dataset.copy)), b);
  });

  // The navigation follows the reader.

  const links = new Map(every('.toc a').map((a) => [a.hash.slice(1), a]));
  const here = (link) => {
    links.forEach((l) => l.removeAttribute('aria-current'));
    link.setAttribute('aria-current', 'true');
    const bar = link.closest('.toc');
    bar.scrollLeft = link.offsetLeft - bar.offsetLeft - bar.clientWidth / 2;
  };
  const spy = new IntersectionObserver((entries) => entries.forEach((e) => {
    if (!e.isIntersecting || !links.has(e.target.id)) return;
    here(scrollY < 80 ? links.values().next().value : links.get(e.target.id));
  }), { rootMargin: '-40% 0px -55% 0px' });
  every('main > section').forEach((s) => spy.observe(s));
})();
