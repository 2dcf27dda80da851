/**
 * Parses the bytes of a body so strictly that its text can be stored as it was sent: JSON.parse would accept duplicate
 * keys, lone surrogates and numbers that become Infinity. https://hl7.org/fhir/R4/json.html, RFC 8259, RFC 7493.
 */
import { isUtf8 } from 'node:buffer'
import {
  JsonDepth,
  JsonDuplicate,
  JsonEmpty,
  JsonLong,
  JsonMalformed,
  JsonName,
  JsonNumber,
  JsonString,
  JsonWide,
  NotAnObject,
  NotUtf8,
} from '../errors.ts'
import { placeAt } from '../text-place.ts'
import { locateSyntaxError } from './locate-syntax-error.ts'
import type { Outline } from './outline.ts'
import { endOfString, isSpace, type JsonMember, scan } from './scan.ts'

const MAX_DEPTH = 100 // levels of nesting; real resources have less than twenty
const MAX_MEMBERS = 1_000 // per object; the type of R4 with the most elements has less than a hundred
const MAX_ITEMS = 500_000 // per array; no code system except SNOMED CT has as many concepts

export interface ParsedResource {
  /** The text as sent, without a byte order mark. */
  readonly text: string
  readonly resource: Record<string, unknown>
  /** Where the members of the resource lie in `text`. */
  readonly members: readonly JsonMember[]
  /** Where the parts of a large text lie; set only if a worker thread has read it. */
  readonly outline?: Outline | undefined
}

interface ReadJson {
  readonly text: string
  readonly value: unknown
  readonly members: readonly JsonMember[]
}

/** Says where the text breaks the grammar, without quoting it. */
const describeSyntax = (text: string): string => {
  const at = locateSyntaxError(text)
  if (at >= text.length) return 'it ends too early'
  const { line, column } = placeAt(text, at)
  return `line ${line}, column ${column}`
}

// Names that every object inherits, such as `constructor`. A body may not have them, because code that looks one up, ours or
// a library's, would find the client's value.
const INHERITED: ReadonlySet<string> = new Set([...Object.getOwnPropertyNames(Object.prototype), 'prototype'])

const checkString = (text: string): void => {
  if (text.includes('\0') || !text.isWellFormed()) throw JsonString()
}

/** Checks what JSON.parse accepts and we refuse. Returns the number of members of all objects. */
const walk = (value: unknown, checkStrings: boolean): number => {
  if (typeof value === 'string') {
    if (checkStrings) checkString(value)
    return 0
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw JsonNumber()
    return 0
  }
  if (typeof value !== 'object' || value === null) return 0
  let keys = 0
  if (Array.isArray(value)) {
    if (value.length > MAX_ITEMS) throw JsonLong(MAX_ITEMS)
    for (const item of value) keys += walk(item, checkStrings)
    return keys
  }
  let own = 0
  for (const key in value) {
    if (INHERITED.has(key)) throw JsonName(key)
    if (checkStrings) checkString(key)
    own += 1
    keys += walk((value as Record<string, unknown>)[key], checkStrings)
  }
  if (own > MAX_MEMBERS) throw JsonWide(MAX_MEMBERS)
  return keys + own
}

/** `text` is well-formed: it was decoded from UTF-8. */
const parseText = (text: string): ReadJson => {
  const { members, keys, depth } = scan(text, MAX_DEPTH)
  if (depth > MAX_DEPTH) throw JsonDepth(MAX_DEPTH)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // V8's own message quotes the text.
    throw text.trim() === '' ? JsonEmpty() : JsonMalformed(describeSyntax(text))
  }
  // Strings need the check only if there is an escape: a raw NUL is not JSON, and a raw lone surrogate is not UTF-8.
  const counted = walk(value, text.includes('\\u'))
  if (counted !== keys) throw JsonDuplicate((duplicateKey(text) ?? '?').slice(0, 64))
  return { text, value, members }
}

/** Parses any JSON value as strictly as a resource. Throws 400 with what is wrong. */
export const parseJson = (bytes: Uint8Array): ReadJson => {
  if (!isUtf8(bytes)) throw NotUtf8()
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return parseText(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8', hasMark ? 3 : 0))
}

const toResource = ({ text, value, members }: ReadJson): ParsedResource => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw NotAnObject()
  return { text, resource: value as Record<string, unknown>, members }
}

/** Throws 400 with what is wrong. The result is an object; the caller checks whether it is a resource. */
export const parseResource = (bytes: Uint8Array): ParsedResource => toResource(parseJson(bytes))

/** The same for a text that was decoded from UTF-8, and has no byte order mark. */
export const parseResourceText = (text: string): ParsedResource => toResource(parseText(text))

/** The first key that an object has twice. The text must be one that JSON.parse accepts. */
const duplicateKey = (text: string): string | undefined => {
  const open: Set<string>[] = []
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 123 /* { */) open.push(new Set())
    else if (code === 125 /* } */) open.pop()
    else if (code === 34 /* " */) {
      const end = endOfString(text, at)
      let next = end
      while (isSpace(text.charCodeAt(next))) next += 1
      if (text[next] === ':') {
        const key = JSON.parse(text.slice(at, end)) as string
        const seen = open.at(-1)
        if (seen?.has(key)) return key
        seen?.add(key)
      }
      at = end - 1
    }
  }
  return undefined
}
