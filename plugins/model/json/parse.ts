/**
 * Bytes → a resource whose text can be stored as it was sent. Stricter than JSON.parse, which accepts duplicate keys,
 * lone surrogates and numbers that become Infinity. https://hl7.org/fhir/R4/json.html, RFC 8259, RFC 7493.
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
import { locateSyntaxError } from './locate-syntax-error.ts'
import type { Outline } from './outline.ts'
import { endOfString, isSpace, type JsonMember, scan } from './scan.ts'

const MAX_DEPTH = 100 // levels; real resources stay below twenty
const MAX_MEMBERS = 1_000 // of one object; the widest type of R4 has less than a hundred
const MAX_ITEMS = 500_000 // of one array; more than the concepts of any code system but SNOMED CT

export interface ParsedResource {
  /** The text as sent, without a byte order mark. */
  readonly text: string
  readonly resource: Record<string, unknown>
  /** Where the members of the resource lie in `text`. */
  readonly members: readonly JsonMember[]
  /** Of a large text that a thread has read: where its parts lie. */
  readonly outline?: Outline | undefined
}

interface ReadJson {
  readonly text: string
  readonly value: unknown
  readonly members: readonly JsonMember[]
}

/** Where the text is broken, in words, without an excerpt of it. */
const describeSyntax = (text: string): string => {
  const at = locateSyntaxError(text)
  if (at >= text.length) return 'it ends too early'
  let line = 1
  let start = 0
  for (let feed = text.indexOf('\n'); feed !== -1 && feed < at; feed = text.indexOf('\n', start)) {
    line += 1
    start = feed + 1
  }
  return `line ${line}, column ${at - start + 1}`
}

// Members that every object inherits. Code that looks one up, ours or a library's, must not find the client's.
const INHERITED: ReadonlySet<string> = new Set([...Object.getOwnPropertyNames(Object.prototype), 'prototype'])

const checkString = (text: string): void => {
  if (text.includes('\0') || !text.isWellFormed()) throw JsonString()
}

/** Checks what JSON.parse lets through and counts the members of all objects. */
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

/** Any JSON as strictly as a resource is read. Throws 400 with what is wrong. */
export const parseJson = (bytes: Uint8Array): ReadJson => {
  if (!isUtf8(bytes)) throw NotUtf8()
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8', hasMark ? 3 : 0)
  const { members, keys, depth } = scan(text, MAX_DEPTH)
  if (depth > MAX_DEPTH) throw JsonDepth(MAX_DEPTH)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // V8's own message quotes the text.
    throw text.trim() === '' ? JsonEmpty() : JsonMalformed(describeSyntax(text))
  }
  // Only an escape can make a NUL or a lone surrogate: raw ones are no UTF-8 or no JSON.
  const counted = walk(value, text.includes('\\u'))
  if (counted !== keys) throw JsonDuplicate((duplicateKey(text) ?? '?').slice(0, 64))
  return { text, value, members }
}

/** Throws 400 with what is wrong. The result is an object; whether it is a resource the caller decides. */
export const parseResource = (bytes: Uint8Array): ParsedResource => {
  const { text, value, members } = parseJson(bytes)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw NotAnObject()
  return { text, resource: value as Record<string, unknown>, members }
}

/** Which key is there twice: asked only when it is known that one is, of a text that JSON.parse accepts. */
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
