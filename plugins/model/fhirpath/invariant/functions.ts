/** The functions of FHIRPath that invariants use. http://hl7.org/fhirpath/N1/#functions */

import { NotSupported } from '../parse.ts'
import { charge, chargeComparison } from './budget.ts'
import {
  asTest,
  type CompiledExpression,
  type CompiledTest,
  type Evaluate,
  type EvaluationContext,
  existsOf,
  type StaticType,
  testOf,
} from './code.ts'
import { asBoolean, type Collection, ElementWithoutValue, EMPTY, single, toBoolean, valueKeyOf } from './values.ts'

export interface FunctionCompiler {
  (call: { readonly on: CompiledExpression; readonly of: readonly CompiledExpression[] }): CompiledExpression
  /** Its arguments are evaluated for each item of the collection it is called on. */
  each?: boolean
}

const kinds = (name: string): readonly StaticType[] => [{ kind: 'primitive', name }]
const BOOLEAN = kinds('boolean')
const STRING = kinds('string')
const INTEGER = kinds('integer')

/** A function of the whole collection; costly when it looks at every item. */
const whole =
  (
    result: readonly StaticType[] | undefined,
    of: (all: Collection, given: readonly (() => Collection)[]) => Collection,
    isCostly = false,
  ): FunctionCompiler =>
  ({ on, of: given }) => ({
    kinds: result ?? on.kinds,
    run(scope, focus) {
      const all = on.run(scope, focus)
      if (isCostly) chargeComparison(scope.work, all)
      return of(
        all,
        given.map((one) => () => one.run(scope, focus)),
      )
    },
  })

/** A function of one string; empty for none. */
const text = (
  result: readonly StaticType[],
  of: (value: string, given: readonly unknown[]) => Collection,
): FunctionCompiler =>
  whole(result, (all, given) => {
    const value = single(all)
    if (value === undefined) return EMPTY
    if (typeof value !== 'string') throw new NotSupported('a string is expected')
    const values = given.map((one) => single(one()))
    return values.includes(undefined) ? EMPTY : of(value, values)
  })

const each = (of: FunctionCompiler): FunctionCompiler => Object.assign(of, { each: true })

const one = (given: readonly CompiledExpression[], at = 0): Evaluate => {
  const compiled = given[at]
  if (compiled === undefined) throw new NotSupported('an argument is missing')
  return compiled.run
}

const filter = (all: Collection, scope: EvaluationContext, criteria: CompiledTest): unknown[] => {
  charge(scope.work, all.length)
  return all.filter((item) => criteria(scope, [item]) === true)
}

/** The criterion among the arguments. */
const criterion = (given: readonly CompiledExpression[]): CompiledTest => {
  const [compiled] = given
  if (compiled === undefined) throw new NotSupported('an argument is missing')
  return testOf(compiled)
}

const distinct = (all: Collection): Collection => {
  if (all.length < 2) return all
  const seen = new Map<unknown, unknown>()
  for (const item of all) {
    const key = valueKeyOf(item)
    if (!seen.has(key)) seen.set(key, item)
  }
  return seen.size === all.length ? all : [...seen.values()]
}

const stringOf = (value: unknown): string => {
  if (typeof value === 'object') throw new NotSupported('toString of an object')
  return String(value)
}

const regex = (pattern: string, flags: string): RegExp => {
  for (const unicode of ['u', '']) {
    try {
      return new RegExp(pattern, `${flags}s${unicode}`)
    } catch {} // `\\'` is nothing to escape in a Unicode expression, and is written in definitions all the same
  }
  throw new NotSupported('a regular expression')
}

/** A regular expression is nearly always a literal: made once per call in an expression. */
const matching =
  (
    result: readonly StaticType[],
    flags: string,
    of: (value: string, pattern: RegExp, given: readonly unknown[]) => Collection,
  ): FunctionCompiler =>
  (call) => {
    let source: unknown
    let compiled = /(?:)/
    return text(result, (value, [pattern, ...given]) => {
      if (pattern !== source) {
        compiled = regex(String(pattern), flags)
        source = pattern
      }
      return of(value, compiled, given)
    })(call)
  }

const both = (on: CompiledExpression, other: CompiledExpression | undefined): readonly StaticType[] | undefined =>
  on.kinds === undefined || other?.kinds === undefined ? undefined : [...on.kinds, ...other.kinds]

const combined =
  (of: (a: Collection, b: Collection) => Collection): FunctionCompiler =>
  ({ on, of: given }) => {
    const other = one(given)
    return {
      kinds: both(on, given[0]),
      run(scope, focus) {
        const [a, b] = [on.run(scope, focus), other(scope, focus)]
        chargeComparison(scope.work, a)
        chargeComparison(scope.work, b)
        return of(a, b)
      },
    }
  }

const INTEGER_TEXT = /^[+-]?[0-9]+$/

/** Without prototype, so that no expression reaches Object's own. */
export const FUNCTIONS: Readonly<Record<string, FunctionCompiler>> = Object.assign(Object.create(null), {
  // existence
  empty: ({ on }) => {
    const exists = existsOf(on)
    return asTest((scope, focus) => !exists(scope, focus))
  },
  exists: each(({ on, of }) => {
    if (of.length === 0) return asTest(existsOf(on))
    const criteria = criterion(of)
    return asTest((scope, focus) => {
      const all = on.run(scope, focus)
      charge(scope.work, all.length)
      return all.some((item) => criteria(scope, [item]) === true)
    })
  }),
  all: each(({ on, of }) => {
    const criteria = criterion(of)
    return asTest((scope, focus) => {
      const all = on.run(scope, focus)
      charge(scope.work, all.length)
      return all.every((item) => criteria(scope, [item]) === true)
    })
  }),
  allTrue: whole(BOOLEAN, (all) => asBoolean(all.every((item) => item === true)), true),
  anyTrue: whole(BOOLEAN, (all) => asBoolean(all.some((item) => item === true)), true),
  allFalse: whole(BOOLEAN, (all) => asBoolean(all.every((item) => item === false)), true),
  anyFalse: whole(BOOLEAN, (all) => asBoolean(all.some((item) => item === false)), true),
  count: whole(INTEGER, (all) => [all.length]),
  distinct: whole(undefined, distinct, true),
  isDistinct: whole(BOOLEAN, (all) => asBoolean(distinct(all).length === all.length), true),
  hasValue: whole(BOOLEAN, (all) => asBoolean(all.length === 1 && typeof all[0] !== 'object')),

  // filtering and projection
  where: each(({ on, of }) => {
    const criteria = criterion(of)
    return { kinds: on.kinds, run: (scope, focus) => filter(on.run(scope, focus), scope, criteria) }
  }),
  select: each(({ on, of }) => {
    const projection = one(of)
    return {
      kinds: of[0]?.kinds,
      run(scope, focus) {
        const all = on.run(scope, focus)
        charge(scope.work, all.length)
        return all.flatMap((item) => projection(scope, [item]))
      },
    }
  }),
  trace: whole(undefined, (all) => all),

  // subsetting
  first: whole(undefined, (all) => (all.length > 1 ? [all[0]] : all)),
  last: whole(undefined, (all) => (all.length > 1 ? [all.at(-1)] : all)),
  tail: whole(undefined, (all) => all.slice(1), true),
  skip: whole(undefined, (all, [count]) => all.slice(Math.max(0, Number(single(count?.() ?? EMPTY) ?? 0))), true),
  take: whole(undefined, (all, [count]) => all.slice(0, Math.max(0, Number(single(count?.() ?? EMPTY) ?? 0))), true),
  single: whole(undefined, (all) => {
    if (all.length > 1) throw new NotSupported('single() of many')
    return all
  }),

  // combining
  union: combined((a, b) => distinct([...a, ...b])),
  combine: combined((a, b) => [...a, ...b]),
  intersect: combined((a, b) => {
    const keys = new Set(b.map(valueKeyOf))
    return distinct(a.filter((item) => keys.has(valueKeyOf(item))))
  }),
  exclude: combined((a, b) => {
    const keys = new Set(b.map(valueKeyOf))
    return a.filter((item) => !keys.has(valueKeyOf(item)))
  }),
  subsetOf: combined((a, b) => {
    const keys = new Set(b.map(valueKeyOf))
    return asBoolean(a.every((item) => keys.has(valueKeyOf(item))))
  }),

  // logic
  not: ({ on }) => {
    const is = testOf(on)
    return asTest((scope, focus) => {
      const value = is(scope, focus)
      return value === undefined ? undefined : !value
    })
  },
  iif: each(({ on, of }) => {
    const [condition, yes] = [one(of), one(of, 1)]
    const no = of[2]?.run
    return {
      kinds: of[2] === undefined ? of[1]?.kinds : both(of[1] as CompiledExpression, of[2]),
      run(scope, focus) {
        const all = on.run(scope, focus)
        if (toBoolean(condition(scope, all)) === true) return yes(scope, all)
        return no === undefined ? EMPTY : no(scope, all)
      },
    }
  }),

  // strings
  startsWith: text(BOOLEAN, (value, [start]) => asBoolean(value.startsWith(String(start)))),
  endsWith: text(BOOLEAN, (value, [end]) => asBoolean(value.endsWith(String(end)))),
  contains: text(BOOLEAN, (value, [part]) => asBoolean(value.includes(String(part)))),
  matches: matching(BOOLEAN, '', (value, pattern) => asBoolean(pattern.test(value))),
  replace: text(STRING, (value, [what, by]) => [value.replaceAll(String(what), () => String(by))]),
  replaceMatches: matching(STRING, 'g', (value, pattern, [by]) => [value.replace(pattern, String(by))]),
  length: text(INTEGER, (value) => [value.length]),
  upper: text(STRING, (value) => [value.toUpperCase()]),
  lower: text(STRING, (value) => [value.toLowerCase()]),
  indexOf: text(INTEGER, (value, [part]) => [value.indexOf(String(part))]),
  substring: text(STRING, (value, [start, count]) => {
    const from = Number(start)
    if (from < 0 || from >= value.length) return EMPTY
    return [count === undefined ? value.slice(from) : value.slice(from, from + Number(count))]
  }),

  // conversion
  toString: whole(STRING, (all) => {
    const value = single(all)
    return value === undefined ? EMPTY : [stringOf(value)]
  }),
  toInteger: whole(INTEGER, (all) => {
    const value = single(all)
    if (typeof value === 'number') return Number.isInteger(value) ? [value] : EMPTY
    if (typeof value === 'boolean') return [value ? 1 : 0]
    return typeof value === 'string' && INTEGER_TEXT.test(value) ? [Number(value)] : EMPTY
  }),

  // FHIR's own
  extension: whole(undefined, () => {
    throw new NotSupported('extension() without a URL')
  }),
  descendants: ({ on }) => ({
    kinds: undefined,
    run(scope, focus) {
      const found: unknown[] = []
      const visit = (value: unknown): void => {
        if (typeof value !== 'object' || value === null) return
        for (const inner of Object.values(value)) {
          if (Array.isArray(inner)) for (const item of inner) add(item)
          else add(inner)
        }
      }
      const add = (value: unknown): void => {
        if (value === null) return
        charge(scope.work, 1)
        found.push(value)
        visit(value)
      }
      for (const value of on.run(scope, focus)) visit(value instanceof ElementWithoutValue ? value.element : value)
      return found
    },
  }),
} satisfies Record<string, FunctionCompiler>)
