/**
 * Decides whether an expression may be given to fhirpath.js. For functions such as resolve() and memberOf() the library
 * fetches from URLs that the resource names, so only expressions of the functions and variables listed below are allowed.
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

/** Whether an expression uses only listed functions and variables. Names in backticks are refused. */
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
