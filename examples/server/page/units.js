// Owns numbers as people read them. Refuses to round anything to nothing.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** @param {number} bytes */
export function sizeOf(bytes) {
  const unit = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** unit;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

/**
 * A part of a whole, as a number from 0 to 1.
 * @param {number | null} part
 * @param {number} whole
 */
export function shareOf(part, whole) {
  if (part === null) return undefined;
  return whole === 0 ? 1 : part / whole;
}

/**
 * In whole per cent; only all is 100, and only nothing is 0.
 * @param {number | undefined} share
 */
export function percentOf(share) {
  if (share === undefined) return 'unknown';
  const percent = Math.round(share * 100);
  return `${share < 1 && percent === 100 ? 99 : share > 0 && percent === 0 ? 1 : percent} %`;
}

/** @param {number | null} value */
export function numberOf(value) {
  if (value === null) return '–';
  return value === 0 ? '0' : String(Number(value.toPrecision(4))).replace('-', '−');
}
