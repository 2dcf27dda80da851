/**
 * Bytes → a resource whose text can be stored as it was sent. Stricter than JSON.parse, which accepts duplicate keys,
 * lone surrogates and numbers that become Infinity. https://hl7.org/fhir/R4/json.html, RFC 8259, RFC 7493.
 */
import { isUtf8 } from 'node:buffer'
import {
  JsonDepth,
  JsonDuplicate,
  JsonEmpty,
  JsonMalformed,
  JsonNumber,
  JsonPrototype,
  JsonString,
  NotAnObject,
  NotUtf8,
} from '../errors.ts'
import { type Member, scan } from './scan.ts'

const MOST_DEPTH = 100 // levels; real resources stay below twenty

export interface ReadResource {
  /** The text as sent, without a byte order mark. */
  readonly text: string
  readonly resource: Record<string, unknown>
  /** Where the members of the resource lie in `text`. */
  readonly members: readonly Member[]
}

/** Position and excerpt of a syntax error, without V8's own wording of the submitted text. */
const describeSyntax = (text: string, error: unknown): string => {
  const position = /at position (\d+)/.exec((error as Error).message)?.[1]
  if (position === undefined) return text.trim() === '' ? 'it is empty' : 'it ends too early'
  const before = text.slice(0, Number(position)).split('\n')
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}

const walk = (value: unknown, checkStrings: boolean): number => {
  if (typeof value === 'string') {
    if (checkStrings && (value.includes('\0') || !value.isWellFormed())) throw JsonString()
    return 0
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw JsonNumber()
    return 0
  }
  if (typeof value !== 'object' || value === null) return 0
  let keys = 0
  if (Array.isArray(value)) {
    for (const item of value) keys += walk(item, checkStrings)
    return keys
  }
  for (const key in value) {
    if (key === '__proto__') throw JsonPrototype()
    if (checkStrings) walk(key, true)
    keys += 1 + walk((value as Record<string, unknown>)[key], checkStrings)
  }
  return keys
}

/** Throws 400 with what is wrong. The result is an object; whether it is a resource the caller decides. */
export const readResource = (bytes: Uint8Array): ReadResource => {
  if (!isUtf8(bytes)) throw NotUtf8()
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8', hasMark ? 3 : 0)
  const { members, keys, depth } = scan(text, MOST_DEPTH)
  if (depth > MOST_DEPTH) throw JsonDepth(MOST_DEPTH)
  let resource: unknown
  try {
    resource = JSON.parse(text)
  } catch (error) {
    if (text.trim() === '') throw JsonEmpty()
    throw JsonMalformed(describeSyntax(text, error))
  }
  if (typeof resource !== 'object' || resource === null || Array.isArray(resource)) throw NotAnObject()
  // Only an escape can make a NUL or a lone surrogate: raw ones are no UTF-8 or no JSON.
  const counted = walk(resource, text.includes('\\u'))
  if (counted !== keys) throw JsonDuplicate(duplicateKey(text) ?? '?')
  return { text, resource: resource as Record<string, unknown>, members }
}

/** Which key is there twice: asked only when it is known that one is. */
const duplicateKey = (text: string): string | undefined => {
  const open: Set<string>[] = []
  const token = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/gs
  for (const [match, colon] of text.matchAll(token)) {
    if (match === '{') open.push(new Set())
    else if (match === '}') open.pop()
    else if (colon !== undefined) {
      const key = JSON.parse(match.slice(0, match.lastIndexOf('"') + 1)) as string
      const seen = open.at(-1)
      if (seen?.has(key)) return key
      seen?.add(key)
    }
  }
  return undefined
}
