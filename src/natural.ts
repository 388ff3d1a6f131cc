// Owns the natural order of names: layers.2 before layers.10. Refuses locales; the order is the same everywhere.

/**
 * A string whose plain order by UTF-16 units is the natural order of `name`: each run of digits becomes
 * '0', its length without leading zeros (two units), the digits. Names that differ only in leading zeros share a key.
 */
export function naturalKey(name: string): string {
  return name.replace(/0*([0-9]+)/g, (_, digits: string) => {
    const length = String.fromCharCode(digits.length >>> 16, digits.length & 0xffff);
    return `0${length}${digits}`;
  });
}

/** Natural order: total, and 0 for equal names only. */
export function compareNatural(a: string, b: string): number {
  return compareUnits(naturalKey(a), naturalKey(b)) || compareUnits(a, b);
}

/** Order by UTF-16 units. */
export function compareUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
