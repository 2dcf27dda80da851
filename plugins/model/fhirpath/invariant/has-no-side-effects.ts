/**
 * Expressions that ask nobody but the resource. fhirpath.js fetches what resolve(), memberOf() and their like need, from
 * wherever the resource says; so only what is listed here is given to it.
 */

const FUNCTIONS = new Set(
  `abs aggregate all allFalse allTrue anyFalse anyTrue as ceiling children combine contains convertsToBoolean
  convertsToDate convertsToDateTime convertsToDecimal convertsToInteger convertsToQuantity convertsToString
  convertsToTime count defineVariable descendants distinct empty endsWith exclude exists exp extension first floor
  getValue hasValue highBoundary iif indexOf intersect is isDistinct join last lastIndexOf length ln log lower
  lowBoundary matches matchesFull not now ofType power precision repeat replace replaceMatches round select single skip
  split sqrt startsWith subsetOf substring supersetOf tail take timeOfDay toBoolean toChars toDate toDateTime toDecimal
  toInteger toQuantity toString toTime today trace trim truncate type union upper where`.split(/\s+/),
)
const VARIABLES = new Set(['resource', 'rootResource', 'context', 'ucum', 'sct', 'loinc'])

const STRING = /'(?:[^'\\]|\\.)*'/gs
const CALL = /([A-Za-z_][A-Za-z0-9_]*)\s*\(/g
const OPERATORS = new Set(['and', 'or', 'xor', 'implies', 'in', 'contains', 'div', 'mod', 'is', 'as'])
const VARIABLE = /%\s*[`']?([A-Za-z_][A-Za-z0-9_-]*)/g

/** Whether an expression uses nothing but functions and variables that need no other resource. */
export const hasNoSideEffects = (expression: string): boolean => {
  const variables = Array.from(expression.matchAll(VARIABLE), ([, name]) => name!)
  const bare = expression.replaceAll(STRING, "''")
  const calls = Array.from(bare.matchAll(CALL), ([, name]) => name!)
  return (
    !bare.includes('`') &&
    calls.every((name) => FUNCTIONS.has(name) || OPERATORS.has(name)) &&
    variables.every((name) => VARIABLES.has(name))
  )
}
