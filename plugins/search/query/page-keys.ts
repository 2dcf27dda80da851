/**
 * Sort values in a page link. A long text is shortened to its beginning and a hash, so that the link stays short. The
 * whole text is read from the last match when the next page is requested.
 */
import { createHash } from 'node:crypto'
import { KEY_CHARS, toPrefixKey } from '../index/normalize.ts'
import { LAST } from './value-context.ts'

/** The first characters of a text and the hash of the whole. */
export type ShortKey = readonly [begin: string, hash: string]
export type PageValue = string | number | ShortKey

/** Shorter texts are not shortened. */
const MAX_CHARS = 2 * KEY_CHARS

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16)

export const shortenKeys = (keys: readonly (string | number)[]): readonly PageValue[] =>
  keys.map((key) => (typeof key === 'string' && key.length > MAX_CHARS ? [toPrefixKey(key), hashOf(key)] : key))

export const areWhole = (keys: readonly PageValue[]): keys is readonly (string | number)[] =>
  keys.every((key) => !Array.isArray(key))

/**
 * `now`: the current sort values of the last match. Where such a text has changed, the page begins with all texts
 * that have the same beginning: some matches are shown twice, but none is skipped.
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
