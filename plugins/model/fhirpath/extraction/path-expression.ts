/**
 * Reads the subset of FHIRPath that search parameters use: paths, `as`, `is`, `ofType`, `where`, unions and comparisons. It
 * normalizes each construct to one spelling. Any other expression is evaluated by fhirpath.js.
 * https://hl7.org/fhir/R4/searchparameter.html
 */
import { type Expression, NotSupported, parse } from '../parse.ts'

const LITERAL = /'(?:[^'\\]|\\.)*'|`[^`]*`/gs
/** Matches what is outside of the subset: comments, other operators, braces, and variables in quotes. */
const BEYOND = /[-+*/&<>~{}]|%['`]/
const OPERATORS = new Set(['|', 'and', 'or', '=', '!='])

const isNoPath = (what: string): never => {
  throw new SyntaxError(`${what} is not read as a path`)
}

/** Removes the namespace of a type: `FHIR.Patient` becomes `Patient`. */
const bareType = (type: string): string => {
  const bare = type.replace(/^(?:(?:FHIR|System)\.)+/, '')
  return bare.includes('.') ? isNoPath(`the type ${type}`) : bare
}

/** The argument of `ofType`. */
const typeName = (expression: Expression | undefined): string => {
  // `ofType(true)`: read as a type name that no type has, so it selects nothing.
  if (expression?.kind === 'literal' && typeof expression.value === 'boolean') return String(expression.value)
  if (expression?.kind !== 'member') return isNoPath('a type that is no name')
  return expression.on === undefined ? expression.name : `${typeName(expression.on)}.${expression.name}`
}

const ofType = (on: Expression | undefined, type: string): Expression => ({
  ...{ kind: 'call', on, name: 'ofType', arguments: [{ kind: 'member', on: undefined, name: bareType(type) }] },
})

const isType = (on: Expression | undefined, type: string): Expression => ({
  ...{ kind: 'type', operator: 'is', on: on ?? { kind: 'this' }, type: bareType(type) },
})

/** Rewrites the tree so that equal meanings have one form: `$this.name` becomes `name`, and `as` becomes `ofType`. */
const canonical = (expression: Expression): Expression => {
  const onOf = (on: Expression | undefined): Expression | undefined => {
    const made = on && canonical(on)
    return made?.kind === 'this' ? undefined : made
  }
  switch (expression.kind) {
    case 'literal':
    case 'this':
      return expression
    case 'variable':
      if (expression.name === 'resource' || expression.name === 'context') return { kind: 'variable', name: 'resource' }
      return isNoPath(`%${expression.name}`)
    case 'member':
      if (expression.name === '') return isNoPath('an empty name')
      return { ...expression, on: onOf(expression.on) }
    case 'item':
      if (expression.index.kind !== 'literal' || typeof expression.index.value !== 'number')
        return isNoPath('an index that is no number')
      return { ...expression, on: canonical(expression.on) }
    case 'type':
      return (expression.operator === 'is' ? isType : ofType)(onOf(expression.on), expression.type)
    case 'binary':
      if (!OPERATORS.has(expression.operator)) return isNoPath(expression.operator)
      return { ...expression, left: canonical(expression.left), right: canonical(expression.right) }
    case 'call': {
      const { name, arguments: given } = expression
      const on = onOf(expression.on)
      if (name !== 'as' && name !== 'is' && name !== 'ofType')
        return { kind: 'call', on, name, arguments: given.map(canonical) }
      if (given.length !== 1) return isNoPath(`${name} of several types`)
      return (name === 'is' ? isType : ofType)(on, typeName(given[0]))
    }
    default:
      return isNoPath(expression.kind)
  }
}

/**
 * In the tree that is returned types are selected by `ofType` only, `%resource` is the only variable, and every index is a
 * number. Throws a SyntaxError for an expression outside of the subset.
 */
export const readPathExpression = (text: string): Expression => {
  if (BEYOND.test(text.replace(LITERAL, (one) => one.charAt(0).repeat(2))))
    throw new SyntaxError(`not read as a path: ${text}`)
  try {
    return canonical(parse(text))
  } catch (error) {
    if (error instanceof NotSupported || error instanceof SyntaxError)
      throw new SyntaxError(`${error.message}: ${text}`)
    throw error
  }
}
