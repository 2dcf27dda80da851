/** Indents JSON by two spaces for each level, for `_pretty`. Strings and numbers keep their spelling. */
import { createPause } from './pause.ts'

const TURN_CHARS = 128 * 1024 // between two looks at the clock

const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_LIST = 91
const BACKSLASH = 92
const CLOSE_LIST = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/** Index behind the string that begins at `start`. */
const endOfString = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charCodeAt(before) === BACKSLASH) before -= 1
    if ((end - before) % 2 === 1) return end + 1
  }
  return text.length
}

const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9

const endsToken = (code: number): boolean =>
  isSpace(code) || code === COMMA || code === CLOSE_LIST || code === CLOSE_OBJECT

const createIndenter = (text: string) => {
  const out: string[] = []
  const breaks: string[] = ['\n']
  let at = 0
  let depth = 0
  let isEmpty = false // true right behind an opening bracket
  const breakLine = (): void => {
    breaks[depth] ??= `\n${'  '.repeat(depth)}`
    out.push(breaks[depth] as string)
  }
  const value = (end: number): void => {
    if (isEmpty) breakLine()
    isEmpty = false
    out.push(text.slice(at, end))
    at = end
  }
  const open = (): void => {
    value(at + 1)
    depth += 1
    isEmpty = true
  }
  const close = (): void => {
    depth -= 1
    if (!isEmpty) breakLine()
    isEmpty = false
    out.push(text[at] as string)
    at += 1
  }
  const step = (): void => {
    const code = text.charCodeAt(at)
    if (isSpace(code)) at += 1
    else if (code === QUOTE) value(endOfString(text, at))
    else if (code === OPEN_OBJECT || code === OPEN_LIST) open()
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) close()
    else if (code === COMMA) {
      out.push(',')
      breakLine()
      at += 1
    } else if (code === COLON) {
      out.push(': ')
      at += 1
    } else {
      let end = at + 1
      while (end < text.length && !endsToken(text.charCodeAt(end))) end += 1
      value(end)
    }
  }
  return {
    /** Goes on up to about the index `until`; false at the end of the text. */
    run(until: number): boolean {
      while (at < text.length && at < until) step()
      return at < text.length
    },
    position: () => at,
    result: () => out.join(''),
  }
}

/** `text` is valid JSON. */
export const indentJson = (text: string): string => {
  const indenter = createIndenter(text)
  indenter.run(text.length)
  return indenter.result()
}

/** Like `indentJson`; other requests are answered in between. */
export const indentJsonInTurns = async (text: string): Promise<string> => {
  const indenter = createIndenter(text)
  const pause = createPause()
  while (indenter.run(indenter.position() + TURN_CHARS)) await pause()
  return indenter.result()
}
