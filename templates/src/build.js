// Builds dist/echarts.js.gz, the chart library that `go build` embeds.
//
// Two builds from the same lock give the same bytes: esbuild is deterministic,
// and the gzip header carries neither a time nor a file name. The licences of
// what is inside must stand in every report, so the build fails when
// static/notices.txt is not what the installed packages say
// (`npm run build -- --update-notices` writes it anew).
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const root = new URL('../', import.meta.url);
const path = (name) => fileURLToPath(new URL(name, root));
const text = (name) => readFileSync(path(name), 'utf8').replace(/\r\n/g, '\n').trim();

function notices() {
  const part = (title, ...files) =>
    [title, '='.repeat(title.length), ...files.map((f) => text('node_modules/' + f))].join('\n\n');
  return [
    part('Apache ECharts', 'echarts/NOTICE', 'echarts/LICENSE'),
    part('d3 (parts, inside Apache ECharts)', 'echarts/licenses/LICENSE-d3'),
    part('ZRender', 'zrender/LICENSE'),
    part('tslib', 'tslib/LICENSE.txt'),
  ].join('\n\n\n') + '\n';
}

const want = notices();
if (process.argv.includes('--update-notices')) {
  writeFileSync(path('static/notices.txt'), want);
} else if (readFileSync(path('static/notices.txt'), 'utf8') !== want) {
  console.error('static/notices.txt is not what the installed packages say; run: npm run build -- --update-notices');
  process.exit(1);
}

const result = await build({
  absWorkingDir: path('.'),
  entryPoints: ['src/echarts.js'],
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2020',
  charset: 'ascii',
  legalComments: 'eof',
  define: { 'process.env.NODE_ENV': '"production"' },
  write: false,
});
const js = Buffer.from(result.outputFiles[0].contents);
if (/<\/script|<!--/i.test(js.toString('latin1'))) {
  console.error('the bundle holds text that cannot stand in an inline script');
  process.exit(1);
}

const gz = gzipSync(js, { level: 9 }); // zlib leaves the time 0
gz[9] = 255; // operating system: unknown, on every machine
mkdirSync(path('dist'), { recursive: true });
writeFileSync(path('dist/echarts.js.gz.tmp'), gz);
renameSync(path('dist/echarts.js.gz.tmp'), path('dist/echarts.js.gz'));
const sum = createHash('sha256').update(js).digest('hex');
console.log(`dist/echarts.js.gz: ${gz.length} bytes (${js.length} unpacked, sha256 ${sum})`);
