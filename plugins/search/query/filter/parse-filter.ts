/** Parses the text of `_filter` into a tree. https://hl7.org/fhir/R4/search_filter.html */
import { SearchFilter, SearchTooCostly } from '../../errors.ts'

export const OPERATORS = [
  ...['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'lt', 'ge', 'le'],
  ...['ap', 'sa', 'eb', 'pr', 'po', 'ss', 'sb', 'in', 'ni', 're'],
] as const
export type Operator = (typeof OPERATORS)[number]

/** One name of a path. `filter`: the condition in brackets after it, on the resource that it leads to. */
export interface FilterStep {
  readonly name: string
  readonly filter: FilterExpression | undefined
}

export type FilterExpression =
  | { readonly kind: 'and' | 'or'; readonly left: FilterExpression; readonly right: FilterExpression }
  | { readonly kind: 'not'; readonly of: FilterExpression }
  | {
      readonly kind: 'test'
      readonly path: readonly FilterStep[]
      readonly operator: Operator
      readonly value: string
      /** The text of the test in the filter, for error messages. */
      readonly text: string
    }

export const MAX_FILTER_CHARS = 8_000
export const MAX_FILTER_TESTS = 64
export const MAX_FILTER_DEPTH = 16 // nested parentheses and brackets
const MAX_STEPS = 10 // links in all paths together

const NAME = /[A-Za-z_-][A-Za-z0-9_-]*/y
const WORD = /[^\s)\]]+/y
const TEXT = /"(?:[^"\\]|\\.)*"/sy

/** Throws 400 with the position of the error; the first character is 1. */
export const parseFilter = (text: string): FilterExpression => {
  if (text.length > MAX_FILTER_CHARS) throw SearchTooCostly(`a filter has at most ${MAX_FILTER_CHARS} characters`)
  let at = 0
  let tests = 0
  let steps = 0
  const fail = (expected: string): never => {
    const found = at < text.length ? `"${text.slice(at, at + 20)}" stands there` : 'it ends there'
    throw SearchFilter(String(at + 1), expected, found)
  }
  const space = (): void => {
    while (/\s/.test(text.charAt(at))) at += 1
  }
  /** Reads what the pattern matches at this position. Undefined when it does not match. */
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    if (found !== undefined) at += found.length
    return found
  }
  const expect = (character: string): void => {
    space()
    if (text.charAt(at) !== character) fail(`"${character}" is expected`)
    at += 1
  }
  /** True when the keyword is at this position and is not the beginning of a longer name. */
  const isKeyword = (word: string): boolean => {
    space()
    const next = text.charAt(at + word.length)
    return text.startsWith(word, at) && (next === '' || /[\s(]/.test(next))
  }
  const readPath = (depth: number): FilterStep[] => {
    const path: FilterStep[] = []
    for (;;) {
      const name = take(NAME) ?? fail('the name of a search parameter is expected')
      let filter: FilterExpression | undefined
      if (text.charAt(at) === '[') {
        at += 1
        filter = readFilter(depth + 1)
        expect(']')
        if (text.charAt(at) !== '.') fail('"." and a parameter are expected behind a bracket')
      }
      path.push({ name, filter })
      if (text.charAt(at) !== '.') return path
      at += 1
      steps += 1
      if (steps > MAX_STEPS) throw SearchTooCostly(`a filter follows at most ${MAX_STEPS} references`)
    }
  }
  const readValue = (): string => {
    space()
    if (text.charAt(at) !== '"') return take(WORD) ?? fail('a value is expected')
    const start = at
    const quoted = take(TEXT) ?? fail('a text in quotes is expected, which ends with a quote')
    try {
      return JSON.parse(quoted) as string
    } catch {
      at = start
      return fail('a text in quotes is expected, written as in JSON')
    }
  }
  const readTest = (depth: number): FilterExpression => {
    const start = at
    const path = readPath(depth)
    space()
    const place = at
    const operator = take(NAME)
    if (!(OPERATORS as readonly (string | undefined)[]).includes(operator)) {
      at = place
      fail(`one of ${OPERATORS.join(', ')} is expected`)
    }
    const value = readValue()
    tests += 1
    if (tests > MAX_FILTER_TESTS) throw SearchTooCostly(`a filter has at most ${MAX_FILTER_TESTS} tests`)
    return { kind: 'test', path, operator: operator as Operator, value, text: text.slice(start, at) }
  }
  const readOne = (depth: number): FilterExpression => {
    if (depth > MAX_FILTER_DEPTH) throw SearchTooCostly(`a filter nests at most ${MAX_FILTER_DEPTH} levels deep`)
    space()
    if (isKeyword('not')) {
      at += 'not'.length
      expect('(')
      const of = readFilter(depth + 1)
      expect(')')
      return { kind: 'not', of }
    }
    if (text.charAt(at) !== '(') return readTest(depth)
    at += 1
    const inside = readFilter(depth + 1)
    expect(')')
    return inside
  }
  /** `and` and `or` have the same precedence and associate to the left. */
  const readFilter = (depth: number): FilterExpression => {
    let left = readOne(depth)
    for (;;) {
      const kind = (['and', 'or'] as const).find(isKeyword)
      if (kind === undefined) return left
      at += kind.length
      left = { kind, left, right: readOne(depth) }
    }
  }
  const filter = readFilter(0)
  space()
  if (at < text.length) fail('"and", "or" or the end is expected')
  return filter
}
