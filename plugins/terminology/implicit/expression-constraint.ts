/**
 * Reads expression constraints of SNOMED CT (ECL) without refinements into filters of a value set.
 * https://confluence.ihtsdotools.org/display/DOCECL
 */
import { NotExpandableHere } from '../expansion-contract.ts'
import type { ValueSetFilter } from '../filter.ts'

/** All of one list have to hold. */
export type Filters = readonly ValueSetFilter[]

/** Codes that one of `includes` selects and none of `excludes`. */
export interface Constraint {
  readonly includes: readonly Filters[]
  readonly excludes: readonly Filters[]
}

/** The property of a concept that names the reference sets it is a member of. */
export const MEMBER_OF = 'memberOf'

const MAX_CHARACTERS = 1000
const MAX_LISTS = 50 // lists of filters that AND may make
const TOKEN = /\s*(?:(<<|<!|<|>>|>!|>|\^|\*|\(|\)|,|\d{1,18})|([A-Za-z]+)|\|[^|]*\|)/y

const tokensOf = (text: string): readonly string[] => {
  const tokens: string[] = []
  let at = 0
  while (at < text.trimEnd().length) {
    TOKEN.lastIndex = at
    const found = TOKEN.exec(text)
    if (found === null || text.length > MAX_CHARACTERS)
      throw new NotExpandableHere(
        `the expression constraint "${text.slice(0, 100)}" is not understood here from "${text.slice(at, at + 20)}" on`,
      )
    at = TOKEN.lastIndex
    const token = found[1] ?? found[2]?.toUpperCase()
    if (token !== undefined) tokens.push(token)
  }
  return tokens
}

const filter = (property: string, op: string, value: string): ValueSetFilter => ({ property, op, value })

/** What an operator in front of a concept selects. */
const SELECTS: Readonly<Record<string, (id: string) => Filters>> = {
  '': (id) => [filter('concept', '=', id)],
  '<<': (id) => [filter('concept', 'is-a', id)],
  '<': (id) => [filter('concept', 'descendent-of', id)],
  '<!': (id) => [filter('parent', '=', id)],
  '>>': (id) => [filter('concept', 'generalizes', id)],
  '>': (id) => [filter('concept', 'generalizes', id), filter('concept', 'not-in', id)],
  '>!': (id) => [filter('child', '=', id)],
  '^': (id) => [filter(MEMBER_OF, '=', id)],
}

const simple = (filters: Filters): Constraint => ({ includes: [filters], excludes: [] })

/** Throws NotExpandableHere for what is not understood. */
export const readExpressionConstraint = (text: string): Constraint => {
  const tokens = tokensOf(text)
  let at = 0
  const refuse = (why: string): NotExpandableHere =>
    new NotExpandableHere(`the expression constraint "${text.slice(0, 100)}" ${why}`)

  const both = (one: Constraint, other: Constraint): Constraint => {
    const includes = one.includes.flatMap((left) => other.includes.map((right) => [...left, ...right]))
    if (includes.length > MAX_LISTS) throw refuse('has too many alternatives')
    return { includes, excludes: [...one.excludes, ...other.excludes] }
  }
  const joined: Readonly<Record<string, (one: Constraint, other: Constraint) => Constraint>> = {
    AND: both,
    ',': both,
    OR(one, other) {
      if (one.excludes.length + other.excludes.length > 0) throw refuse('has MINUS inside of OR')
      return { includes: [...one.includes, ...other.includes], excludes: [] }
    },
    MINUS(one, other) {
      if (other.excludes.length > 0) throw refuse('has MINUS behind MINUS')
      return { includes: one.includes, excludes: [...one.excludes, ...other.includes] }
    },
  }

  const part = (): Constraint => {
    const token = tokens[at++]
    if (token === '(') {
      const inner = whole()
      if (tokens[at++] !== ')') throw refuse('lacks a bracket')
      return inner
    }
    if (token === '*') return simple([])
    const isOperator = token !== undefined && Object.hasOwn(SELECTS, token)
    const operator = isOperator ? token : ''
    const id = isOperator ? tokens[at++] : token
    if (id === undefined || !/^\d/.test(id)) throw refuse('is not understood here')
    return simple(SELECTS[operator]?.(id) ?? [])
  }
  const whole = (): Constraint => {
    let found = part()
    let used: string | undefined
    for (let join = joined[tokens[at] ?? '']; join !== undefined; join = joined[tokens[at] ?? '']) {
      const name = tokens[at++] === ',' ? 'AND' : tokens[at - 1]
      if (used !== undefined && (used !== name || name === 'MINUS')) throw refuse('needs brackets')
      used = name
      found = join(found, part())
    }
    return found
  }
  const found = whole()
  if (at < tokens.length) throw refuse('is not understood here')
  return found
}
