/**
 * Finds the line of each key in a TOML text, which the parser does not report. The text was parsed before, so it is
 * valid TOML.
 */

interface Cursor {
  readonly text: string
  at: number
  line: number
}

const step = (cursor: Cursor, count = 1): void => {
  for (let taken = 0; taken < count; taken++) if (cursor.text[cursor.at++] === '\n') cursor.line++
}

/** Skips white space, line ends and comments. */
const skipVoid = (cursor: Cursor): void => {
  for (; cursor.at < cursor.text.length; step(cursor)) {
    const sign = cursor.text[cursor.at]!
    if (sign === '#') while (cursor.at < cursor.text.length && cursor.text[cursor.at] !== '\n') cursor.at++
    if (cursor.at < cursor.text.length && !/\s/.test(cursor.text[cursor.at]!)) return
  }
}

/** Moves past a string of any of the four kinds; returns what is between its quotes, escapes untouched. */
const string = (cursor: Cursor): string => {
  const { text } = cursor
  const quote = text[cursor.at]!
  const long = text.startsWith(quote.repeat(3), cursor.at)
  const end = long ? quote.repeat(3) : quote
  step(cursor, end.length)
  const start = cursor.at
  while (cursor.at < text.length && !text.startsWith(end, cursor.at))
    step(cursor, quote === '"' && text[cursor.at] === '\\' ? 2 : 1)
  const inside = text.slice(start, cursor.at)
  step(cursor, end.length)
  // A multi-line string may end in up to two quotes of its own.
  while (long && text[cursor.at] === quote) step(cursor)
  return inside
}

/** `a . "b.c"` up to its `=` or `]`. */
const key = (cursor: Cursor): string[] => {
  const words: string[] = []
  for (; cursor.at < cursor.text.length; ) {
    const sign = cursor.text[cursor.at]!
    if (sign === '=' || sign === ']') break
    if (sign === '"' || sign === "'") words.push(string(cursor))
    else if (/[\s.]/.test(sign)) step(cursor)
    else {
      const start = cursor.at
      while (/[A-Za-z0-9_-]/.test(cursor.text[cursor.at] ?? '')) cursor.at++
      words.push(cursor.text.slice(start, cursor.at))
      if (cursor.at === start) cursor.at++ // cannot happen in valid TOML; never loop
    }
  }
  return words
}

/**
 * Moves past one value. Keys of inline tables inside it are recorded under `path`, items of an array by their number.
 */
const value = (
  cursor: Cursor,
  path: readonly string[],
  note: (path: readonly string[], line: number) => void,
): void => {
  skipVoid(cursor)
  const sign = cursor.text[cursor.at]
  if (sign === '"' || sign === "'") {
    string(cursor)
    return
  }
  if (sign !== '[' && sign !== '{') {
    while (cursor.at < cursor.text.length && !/[,\]}#\n]/.test(cursor.text[cursor.at]!)) step(cursor)
    return
  }
  const end = sign === '[' ? ']' : '}'
  step(cursor)
  for (let item = 0; cursor.at < cursor.text.length; item++) {
    skipVoid(cursor)
    if (cursor.text[cursor.at] === end) break
    const { line } = cursor
    const inside = [...path, ...(sign === '[' ? [String(item)] : key(cursor))]
    note(inside, line)
    if (sign === '{') step(cursor)
    value(cursor, inside, note)
    skipVoid(cursor)
    if (cursor.text[cursor.at] === ',') step(cursor)
  }
  step(cursor)
}

/**
 * `database.kind` → its line, counted from 1; tables have the line of their header. A key written inside an array has
 * the item's number.
 */
export const linesOf = (text: string): ReadonlyMap<string, number> => {
  const lines = new Map<string, number>()
  const note = (path: readonly string[], line: number): void => {
    for (let length = 1; length <= path.length; length++) {
      const name = path.slice(0, length).join('.')
      if (!lines.has(name)) lines.set(name, line)
    }
  }
  const cursor: Cursor = { text, at: text.startsWith('\uFEFF') ? 1 : 0, line: 1 }
  let table: string[] = []
  for (skipVoid(cursor); cursor.at < text.length; skipVoid(cursor)) {
    const { line } = cursor
    if (text[cursor.at] === '[') {
      const brackets = text[cursor.at + 1] === '[' ? 2 : 1
      step(cursor, brackets)
      table = key(cursor)
      step(cursor, brackets)
      note(table, line)
    } else {
      const path = [...table, ...key(cursor)]
      step(cursor)
      note(path, line)
      value(cursor, path, note)
    }
  }
  return lines
}
