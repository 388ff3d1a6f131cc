// Owns the chart of a result: a panel for each of some races, a bar for each contender, light and dark. Pure.
// Refuses logarithms: a bar twice as long took twice as long.
import { quantity } from './words.mjs';

const WIDTH = 880;
const PANEL = { width: 420, title: 34, row: 22, gap: 26, label: 204, bar: 132 };
const MOST_BARS = 6;

/** What is drawn: a case, and the start of a race's key. */
const PANELS = /** @type {const} */ ([
  [1, 'list-100000'],
  [2, 'model'],
  [5, 'lines-4194304'],
  [6, 'cold'],
  [8, 'BF16-reused'],
  [11, 'save'],
]);

const THEMES = {
  light: { text: '#1f2328', quiet: '#59636e', ours: '#0969da', limit: '#8250df', other: '#afb8c1', whisker: '#24292f' },
  dark: { text: '#f0f6fc', quiet: '#9198a1', ours: '#4493f8', limit: '#ab7df8', other: '#59636e', whisker: '#d1d7e0' },
};

/** @param {string} text */
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/**
 * The bars of a race: ours first, then by time. Beyond the sixth they stand in docs/benchmarks.md.
 * @param {import('./words.mjs').RaceResult} race
 */
function barsOf({ contenders }) {
  const measured = contenders.flatMap(({ name, status, median, q1, q3 }) =>
    status === 'ok' && median !== undefined && q1 !== undefined && q3 !== undefined ? [{ name, median, q1, q3 }] : [],
  );
  const [ours, ...others] = measured;
  if (ours === undefined) return [];
  return [
    { ...ours, ours: true },
    ...others.sort((a, b) => a.median - b.median).map((bar) => ({ ...bar, ours: false })),
  ].slice(0, MOST_BARS);
}

/**
 * @param {import('./tables.mjs').Result} result
 * @param {'light' | 'dark'} theme
 * @returns {string} SVG
 */
export function draw(result, theme) {
  const colours = THEMES[theme];
  const panels = PANELS.flatMap(([number, key]) => {
    const found = result.cases.find((one) => one.number === number);
    const race = found?.races.find((one) => one.key.startsWith(key));
    const bars = race === undefined ? [] : barsOf(race);
    return found === undefined || race === undefined || bars.length === 0 ? [] : [{ found, race, bars }];
  });
  const rows = Math.ceil(panels.length / 2);
  const height = (/** @type {number} */ row) => {
    const lengths = panels.slice(row * 2, row * 2 + 2).map(({ bars }) => bars.length);
    return PANEL.title + Math.max(0, ...lengths) * PANEL.row + PANEL.gap;
  };
  const tops = Array.from({ length: rows + 1 }, (_, row) =>
    Array.from({ length: row }, (_, before) => height(before)).reduce((sum, one) => sum + one, 12),
  );
  const total = (tops.at(-1) ?? 0) + 24;
  const body = panels.flatMap(({ found, race, bars }, i) => {
    const [left, top] = [(i % 2) * (PANEL.width + 40), tops[Math.floor(i / 2)] ?? 0];
    const longest = Math.max(...bars.map(({ q3 }) => q3));
    const scale = (/** @type {number} */ value) => Math.max(1.5, (value / longest) * PANEL.bar);
    const title = `<text x="${left}" y="${top + 14}" class="title">${escaped(found.title)}</text><text x="${left}" y="${top + 28}" class="quiet">${escaped(race.title)}</text>`;
    const drawn = bars.map(({ name, median, q1, q3, ours }, k) => {
      const y = top + PANEL.title + k * PANEL.row;
      const start = left + PANEL.label;
      const fill = ours ? colours.ours : /^(?:C |C,|memcpy)/.test(name) ? colours.limit : colours.other;
      const [x1, x2] = [q1, q3].map((value) => (start + scale(value)).toFixed(1));
      const label = name.length > 34 ? `${name.slice(0, 33)}…` : name;
      return [
        `<text x="${start - 8}" y="${y + 12}" class="${ours ? 'ours' : 'name'}" text-anchor="end">${escaped(label)}</text>`,
        `<rect x="${start}" y="${y + 2}" width="${scale(median).toFixed(1)}" height="13" rx="2" fill="${fill}"/>`,
        `<line x1="${x1}" y1="${y + 8.5}" x2="${x2}" y2="${y + 8.5}" stroke="${colours.whisker}"/>`,
        `<text x="${(start + scale(q3) + 6).toFixed(1)}" y="${y + 12}" class="quiet">${quantity(median, race.unit)}</text>`,
      ].join('');
    });
    return [title, ...drawn];
  });
  const { machine, date, mode } = result;
  const kind = mode === 'quick' ? 'quick run, a hint only; ' : '';
  const foot = `Medians, lower is better; the thin line spans the quartiles. Violet: the physical limit, in C. ${kind}${date.slice(0, 10)}, ${machine.cpu}, ${machine.processors} processors`;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${total}" width="${WIDTH}" height="${total}" role="img">`,
    `<title>safetensors-mmap beside its alternatives and the physical limit</title>`,
    `<style>text{font:11px system-ui,-apple-system,"Segoe UI",sans-serif}.title{font-weight:600;font-size:13px;fill:${colours.text}}.name{fill:${colours.text}}.ours{font-weight:600;fill:${colours.ours}}.quiet{fill:${colours.quiet}}</style>`,
    ...body,
    `<text x="0" y="${total - 8}" class="quiet">${escaped(foot)}</text>`,
    '</svg>',
  ].join('\n')}\n`;
}
