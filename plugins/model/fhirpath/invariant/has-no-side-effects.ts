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

/** String literals and comments. A comment may hold a quote, and a string what begins a comment, so both are found together. */
const TEXT_OR_COMMENT = /('(?:[^'\\]|\\.)*')|\/\*[\s\S]*?\*\/|\/\/[^\n]*/gs
const CALL = /([A-Za-z_][A-Za-z0-9_]*)\s*\(/g
const OPERATORS = new Set(['and', 'or', 'xor', 'implies', 'in', 'contains', 'div', 'mod', 'is', 'as'])
const VARIABLE = /%\s*[`']?([A-Za-z_][A-Za-z0-9_-]*)/g

export interface AllowedNames {
  /** Functions besides those that invariants use. */
  readonly functions?: ReadonlySet<string>
  /** True for the name of a variable, without `%`. */
  readonly isVariable?: (name: string) => boolean
}

/** Whether an expression uses only listed functions and variables. Names in backticks are refused. */
export const hasNoSideEffects = (
  expression: string,
  { functions, isVariable = (name) => VARIABLES.has(name) }: AllowedNames = {},
): boolean => {
  const code = expression.replaceAll(TEXT_OR_COMMENT, (_all, text: string | undefined) => text ?? ' ')
  const variables = Array.from(code.matchAll(VARIABLE), ([, name]) => name!)
  const bare = code.replaceAll(TEXT_OR_COMMENT, (_all, text: string | undefined) => (text === undefined ? ' ' : "''"))
  const calls = Array.from(bare.matchAll(CALL), ([, name]) => name!)
  return (
    !bare.includes('`') &&
    calls.every((name) => FUNCTIONS.has(name) || OPERATORS.has(name) || functions?.has(name) === true) &&
    variables.every(isVariable)
  )
}
