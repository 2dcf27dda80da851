/** The binary operators of FHIRPath, three-valued. http://hl7.org/fhirpath/N1/#operations */

import { NotSupported } from '../parse.ts'
import { chargeComparison } from './budget.ts'
import { asTest, type CompiledExpression, type Evaluate, type StaticType, testOf } from './code.ts'
import { FUNCTIONS } from './functions.ts'
import { asBoolean, compare, deepEqual, EMPTY, equal, orderOf, single } from './values.ts'

const BOOLEAN: readonly StaticType[] = [{ kind: 'primitive', name: 'boolean' }]

const namesOf = (kinds: readonly StaticType[] | undefined): readonly string[] | undefined =>
  kinds?.map(({ name }) => name)

const stringOf = (value: unknown): string => {
  if (typeof value === 'object') throw new NotSupported('no string')
  return value === undefined ? '' : String(value)
}

/** Throws Unsupported for an operator that is not one of these. */
export const binary = (operator: string, left: CompiledExpression, right: CompiledExpression): CompiledExpression => {
  const [a, b] = [left.run, right.run]
  const [leftNames, rightNames] = [namesOf(left.kinds), namesOf(right.kinds)]
  const order = orderOf(leftNames === undefined || rightNames === undefined ? undefined : [...leftNames, ...rightNames])
  const boolean = (run: Evaluate): CompiledExpression => ({ run, kinds: BOOLEAN })
  const compared = (test: (difference: number) => boolean): CompiledExpression =>
    asTest((scope, focus) => {
      const difference = compare(a(scope, focus), b(scope, focus), order)
      return difference === undefined ? undefined : test(difference)
    })
  const [isLeft, isRight] = [testOf(left), testOf(right)]
  const contains = (one: Evaluate, all: Evaluate): CompiledExpression =>
    boolean((scope, focus) => {
      const values = one(scope, focus)
      if (values.length > 1) throw new NotSupported('one value is expected')
      if (values.length === 0) return EMPTY
      const others = all(scope, focus)
      chargeComparison(scope.work, others)
      return asBoolean(others.some((other) => deepEqual(values[0], other)))
    })
  const arithmetic = (of: (x: number, y: number) => number): CompiledExpression => ({
    kinds: [{ kind: 'primitive', name: 'decimal' }],
    run(scope, focus) {
      const x = single(a(scope, focus))
      const y = single(b(scope, focus))
      if (x === undefined || y === undefined) return EMPTY
      if (typeof x !== 'number' || typeof y !== 'number') throw new NotSupported('no numbers')
      return [of(x, y)]
    },
  })
  switch (operator) {
    case 'and':
      return asTest((scope, focus) => {
        const x = isLeft(scope, focus)
        if (x === false) return false
        const y = isRight(scope, focus)
        return x === true || y === false ? y : undefined
      })
    case 'or':
      return asTest((scope, focus) => {
        const x = isLeft(scope, focus)
        if (x === true) return true
        const y = isRight(scope, focus)
        return x === false || y === true ? y : undefined
      })
    case 'xor':
      return asTest((scope, focus) => {
        const x = isLeft(scope, focus)
        const y = isRight(scope, focus)
        return x === undefined || y === undefined ? undefined : x !== y
      })
    case 'implies':
      return asTest((scope, focus) => {
        const x = isLeft(scope, focus)
        if (x === false) return true
        const y = isRight(scope, focus)
        return x === true || y === true ? y : undefined
      })
    case '=':
      return asTest((scope, focus) => equal(a(scope, focus), b(scope, focus), order))
    case '!=':
      return asTest((scope, focus) => {
        const same = equal(a(scope, focus), b(scope, focus), order)
        return same === undefined ? undefined : !same
      })
    case '<':
      return compared((difference) => difference < 0)
    case '<=':
      return compared((difference) => difference <= 0)
    case '>':
      return compared((difference) => difference > 0)
    case '>=':
      return compared((difference) => difference >= 0)
    case 'in':
      return contains(a, b)
    case 'contains':
      return contains(b, a)
    case '|':
      return FUNCTIONS.union!({ on: left, of: [right] })
    case '&':
      return {
        kinds: [{ kind: 'primitive', name: 'string' }],
        run: (scope, focus) => [stringOf(single(a(scope, focus))) + stringOf(single(b(scope, focus)))],
      }
    case '+':
      return arithmetic((x, y) => x + y)
    case '-':
      return arithmetic((x, y) => x - y)
    case '*':
      return arithmetic((x, y) => x * y)
    default:
      throw new NotSupported(`the operator ${operator}`)
  }
}
