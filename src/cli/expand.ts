// Owns the pretty printing of metadata values that are JSON documents themselves.
// Refuses to rebuild them from parsed values: numbers keep their digits, keys their order and their doubles.

/** Nesting beyond which a value is left as it is: the indentation would outgrow the value. */
const MAX_DEPTH = 32;

/** Length, in UTF-16 units, beyond which a value is left as it is: nobody reads it line by line. */
const MAX_LENGTH = 1 << 20;

// Whatever is no JSON token at all is let through: the text is checked at the end.
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** The text with one member a line, two spaces a level, when it is a JSON object or array; otherwise undefined. */
export function expandJson(text: string): string | undefined {
  if (text.length > MAX_LENGTH || !/^\s*[{[]/.test(text)) return undefined;
  let out = '';
  let depth = 0;
  let previous = '';
  for (const [token] of text.matchAll(TOKENS)) {
    const closes = token === '}' || token === ']';
    const opened = previous === '{' || previous === '[';
    if (closes && depth > 0) depth -= 1;
    if (opened !== closes || (previous === ',' && !closes)) out += `\n${'  '.repeat(depth)}`;
    out += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth += 1;
    if (depth > MAX_DEPTH) return undefined;
    previous = token;
  }
  // Asked last: the parser takes its time over nesting that the bound above has refused.
  return isJson(text) ? out : undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
