/**
 * The FHIRPath of search parameters: paths, `as`, `is`, `ofType`, `where`, unions, comparisons, each in one spelling. What
 * else there is of the language is left to fhirpath.js. https://hl7.org/fhir/R4/searchparameter.html
 */
import { type Expression, NotSupported, parse } from '../parse.ts'

const LITERAL = /'(?:[^'\\]|\\.)*'|`[^`]*`/gs
/** Comments, signs and operators of the rest of the language, and variables in quotes. */
const BEYOND = /[-+*/&<>~{}]|%['`]/
const OPERATORS = new Set(['|', 'and', 'or', '=', '!='])

const isNoPath = (what: string): never => {
  throw new SyntaxError(`${what} is not read as a path`)
}

/** `FHIR.Patient` and `System.String` name the same as without their model. */
const bareType = (type: string): string => {
  const bare = type.replace(/^(?:(?:FHIR|System)\.)+/, '')
  return bare.includes('.') ? isNoPath(`the type ${type}`) : bare
}

/** The argument of `ofType`. */
const typeName = (expression: Expression | undefined): string => {
  // No type is called so, and nothing is of it.
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

/** `$this.name` and `name` mean the same; R4 means by `as` what FHIRPath calls `ofType`. */
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
 * `ofType` is the only word for it, `%resource` the only variable, and an index a number. Throws a SyntaxError for what is
 * outside this part of the language.
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
