/**
 * Values of the order in a page link: of a long text its beginning and a hash, so that the link stays short. What the text
 * is tells the match it is the value of, when the next page is asked for.
 */
import { createHash } from 'node:crypto'
import { KEY_CHARS, toPrefixKey } from '../index/normalize.ts'
import { LAST } from './value-context.ts'

/** The first characters of a text, and what tells it from others that begin so. */
export type ShortKey = readonly [begin: string, hash: string]
export type PageValue = string | number | ShortKey

/** A text that is not much longer than its beginning and a hash stays as it is. */
const MAX_CHARS = 2 * KEY_CHARS

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16)

export const shortenKeys = (keys: readonly (string | number)[]): readonly PageValue[] =>
  keys.map((key) => (typeof key === 'string' && key.length > MAX_CHARS ? [toPrefixKey(key), hashOf(key)] : key))

export const areWhole = (keys: readonly PageValue[]): keys is readonly (string | number)[] =>
  keys.every((key) => !Array.isArray(key))

/**
 * `now`: the values the last match has now. Where that is another than it was, the page begins with all that begins like
 * it: some of it is shown twice, and none is left out.
 */
export const wholeKeys = (
  keys: readonly PageValue[],
  now: readonly (string | number)[],
  isDescending: (at: number) => boolean,
): readonly (string | number)[] =>
  keys.map((key, at) => {
    if (typeof key !== 'object') return key
    const [begin, hash] = key
    const text = now[at]
    if (typeof text === 'string' && hashOf(text) === hash) return text
    return isDescending(at) ? begin + LAST : begin
  })
