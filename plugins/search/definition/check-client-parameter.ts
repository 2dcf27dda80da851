/**
 * Checks a posted SearchParameter. What depends on the resource itself is checked before the transaction; conflicts
 * with other SearchParameters are checked inside it.
 */
import type { Issue, IssueCode } from '../../../kernel/index.ts'
import { type InterpretedNodes, readPathExpression } from '../../model/service.ts'
import { SearchParameterRefused } from '../errors.ts'
import type { ClientParameterRow, CompiledParameter } from './client-parameters.ts'
import { ABSTRACT_TYPES, SPECIAL } from './compile-parameter.ts'
import type { SearchDefinitions, SearchParameterResource } from './stored-definitions.ts'

const MAX_CHARS = 4_000 // characters of an expression; the longest in R4 core has 1,300
const MAX_DEPTH = 40 // nested brackets
// A code with a dot, colon or comma would read as a chain, a modifier or a second value.
const CODE = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/
/**
 * Functions that an expression may call, because fhirpath.js evaluates it at every write of a resource. Left out are
 * functions that match patterns, walk the tree repeatedly, or read outside the resource.
 */
const FUNCTIONS = new Set(
  (
    'first last tail skip take single where exists empty not all count distinct select ofType as is extension hasExtension ' +
    'resolve union combine intersect exclude iif hasValue getValue toString toInteger toDecimal toQuantity toBoolean ' +
    'toDate toDateTime startsWith endsWith contains substring indexOf length lower upper trim isDistinct subsetOf ' +
    'supersetOf children allTrue anyTrue allFalse anyFalse'
  ).split(' '),
)

const issue = (code: IssueCode, element: string, diagnostics: string): Issue => ({
  severity: 'error',
  code,
  diagnostics,
  expression: [`SearchParameter.${element}`],
})

const depthOf = (text: string): number => {
  let [depth, most] = [0, 0]
  for (const char of text) {
    if (char === '(' || char === '[') depth += 1
    if (char === ')' || char === ']') depth -= 1
    most = Math.max(most, depth)
  }
  return most
}

const tooLarge = (expression: string): boolean => expression.length > MAX_CHARS || depthOf(expression) > MAX_DEPTH

/**
 * Names of the functions that an expression calls: names in front of a bracket, plain or in backticks. Strings are
 * emptied first, so that their content is not read as code. Operators are left out.
 */
const calledIn = (expression: string): readonly string[] =>
  [...expression.replace(/'(?:[^'\\]|\\.)*'/g, "''").matchAll(/([A-Za-z_][A-Za-z0-9_]*)`?\s*\(/g)]
    .map(([, name]) => name as string)
    .filter((name) => !['and', 'or', 'xor', 'implies', 'in', 'contains', 'is', 'as', 'div', 'mod'].includes(name))

/** Functions that evaluate their argument for every item. Nested in each other they multiply the work. */
const EACH = new Set(['where', 'select', 'exists', 'all', 'iif'])
const MAX_EACH = 3

const eachWithinEach = (expression: string): number => {
  const open: boolean[] = []
  let most = 0
  for (const [, name, bracket] of expression
    .replace(/'(?:[^'\\]|\\.)*'/g, "''")
    .matchAll(/([A-Za-z_][A-Za-z0-9_]*)?`?\s*([()])/g)) {
    if (bracket === '(') open.push(EACH.has(name ?? ''))
    else open.pop()
    most = Math.max(most, open.filter((one) => one).length)
  }
  return most
}

/**
 * Throws 422 with all problems that the elements of the definition show by themselves. `types`: resource types of the
 * packages.
 */
export const checkElements = (definition: SearchParameterResource, types: ReadonlySet<string>): void => {
  const { code, type, base = [], expression, component = [], url } = definition
  const issues: Issue[] = []
  if (typeof url !== 'string')
    issues.push(issue('required', 'url', 'It has no url, which distinguishes it from others.'))
  if (typeof code !== 'string' || !CODE.test(code) || SPECIAL.has(code))
    issues.push(
      issue(
        'value',
        'code',
        `The code "${String(code).slice(0, 64)}" is not a letter followed by letters, digits, - and _.`,
      ),
    )
  if (type === 'special')
    issues.push(
      issue('not-supported', 'type', 'A parameter of type special is code of a server; there is none for it.'),
    )
  for (const [at, one] of base.entries())
    if (!types.has(one) && !ABSTRACT_TYPES.has(one))
      issues.push(issue('not-found', `base[${at}]`, `There is no resource type ${String(one).slice(0, 64)}.`))
  if (base.length === 0) issues.push(issue('required', 'base', 'It has no base: the types it is for.'))
  if (expression === undefined)
    issues.push(issue('required', 'expression', 'It has no expression: what to index is not said.'))
  if (type === 'composite' && component.length < 2)
    issues.push(issue('required', 'component', 'A composite has two components or more.'))
  const expressions = [
    ...(expression === undefined ? [] : [['expression', expression] as const]),
    ...component.map((one, at) => [`component[${at}].expression`, one.expression] as const),
  ]
  for (const [element, text] of expressions)
    if (tooLarge(text))
      issues.push(
        issue('too-costly', element, `It is longer than ${MAX_CHARS} characters, or nested deeper than ${MAX_DEPTH}.`),
      )
  if (issues.length > 0) throw SearchParameterRefused(issues[0]?.diagnostics ?? '').with({ issues })
}

/**
 * Throws 422 for an expression that cannot be evaluated, or that selects no value which this type of parameter can
 * index.
 */
export const checkCompiled = (
  { definition, parameters, columns, bases }: CompiledParameter,
  toNodes: ((expression: string) => InterpretedNodes) | undefined,
): void => {
  const { expression = '', type } = definition
  const issues: Issue[] = []
  const exotic = columns.filter((one) => one.exotic === true)
  const refused = exotic.length === 0 ? [] : calledIn(expression).filter((name) => !FUNCTIONS.has(name))
  if (refused.length > 0)
    issues.push(
      issue('not-supported', 'expression', `It calls ${refused[0]}(), which is not evaluated at every write.`),
    )
  else if (exotic.length > 0 && eachWithinEach(expression) > MAX_EACH)
    issues.push(issue('too-costly', 'expression', `It has more than ${MAX_EACH} conditions within conditions.`))
  else
    for (const column of exotic)
      try {
        toNodes?.(column.expression)({ resourceType: column.type })
      } catch (error) {
        const reason = String((error as Error).message ?? error).slice(0, 300)
        issues.push(issue('invalid', 'expression', `It is no FHIRPath that can be evaluated: ${reason}`))
        break
      }
  const missing = bases.filter((base) => !parameters.some((one) => one.base === base))
  // With base `Resource` the element may be missing in some types; a type that `base` names has to have it.
  const isNamed = (base: string): boolean => definition.base?.includes(base) === true
  if (parameters.length === 0 || missing.some(isNamed))
    issues.push(
      issue(
        'invalid',
        'expression',
        `It selects nothing in ${missing.filter(isNamed).join(', ') || 'any type'} that a parameter of type ${type} can index.`,
      ),
    )
  for (const [at, { expression: text }] of (definition.component ?? []).entries())
    try {
      readPathExpression(text)
    } catch (error) {
      issues.push(issue('invalid', `component[${at}].expression`, (error as Error).message.slice(0, 300)))
    }
  if (issues.length > 0) throw SearchParameterRefused(issues[0]?.diagnostics ?? '').with({ issues })
}

const columnsOf = (
  { columns, parameters }: Pick<SearchDefinitions, 'columns' | 'parameters'>,
  base: string,
  code: string,
) =>
  parameters
    .find((one) => one.base === base && one.code === code)
    ?.columns.map(({ column, refers = '' }) => `${columns[column]?.expression} ${refers}`)
    .sort()
    .join(' ')

/**
 * [type, code] of the packages' parameters with this URL that define a compartment. A posted SearchParameter may
 * replace such a parameter only with equal columns, and may not retire it.
 */
const compartmentCodes = (
  { parameters, compartments }: SearchDefinitions,
  url: string,
): readonly (readonly [string, string])[] =>
  parameters
    .filter(
      (one) =>
        one.url === url &&
        Object.values(compartments).some((members) => members[one.base]?.includes(one.code) === true),
    )
    .map(({ base, code }) => [base, code])

/**
 * Throws 422 where the SearchParameter conflicts with others. `others`: the other posted ones. `names` returns
 * whether the error may name the other one: the caller may not be allowed to see it.
 */
export const checkTogether = (
  { url, status, id }: Pick<ClientParameterRow, 'url' | 'status' | 'id'>,
  compiled: CompiledParameter | undefined,
  packages: SearchDefinitions,
  others: readonly { readonly row: ClientParameterRow; readonly code: string; readonly bases: readonly string[] }[],
  names: (other: ClientParameterRow) => boolean,
): void => {
  const same = others.find(({ row }) => row.url === url)
  const refuse = (element: string, code: IssueCode, sentence: string) =>
    SearchParameterRefused(sentence).with({ issues: [issue(code, element, sentence)] })
  if (same !== undefined)
    throw refuse(
      'url',
      'duplicate',
      names(same.row)
        ? `SearchParameter/${same.row.id} has the url ${url} and is ${same.row.status}.`
        : `The url ${url} is taken by another SearchParameter.`,
    )
  for (const [base, code] of compartmentCodes(packages, url))
    if (
      status === 'retired' ||
      compiled === undefined ||
      columnsOf(compiled, base, code) !== columnsOf(packages, base, code)
    )
      throw refuse(
        'url',
        'business-rule',
        `The parameter ${code} of ${base} says what lies in a compartment; it can be neither retired nor given another meaning.`,
      )
  if (compiled === undefined) return
  const displaced = new Set([url, ...others.map(({ row }) => row.url)])
  const { code } = compiled.definition
  for (const base of compiled.bases) {
    const packaged = packages.parameters.find(
      (one) => one.base === base && one.code === code && !displaced.has(one.url),
    )
    const posted = others.find((one) => one.row.status === 'active' && one.code === code && one.bases.includes(base))
    const nameOf = (row: ClientParameterRow): string =>
      names(row) ? `${row.url} (SearchParameter/${row.id})` : 'another SearchParameter'
    const taker = packaged?.url ?? (posted === undefined ? undefined : nameOf(posted.row))
    if (taker !== undefined)
      throw refuse(
        'code',
        'duplicate',
        `The code ${code} of ${base} is taken by ${taker}. Give SearchParameter/${id} another code, or its url.`,
      )
  }
}
