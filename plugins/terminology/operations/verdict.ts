/** The answer of $validate-code: whether one of the codings is valid, and why not. */
import type { Invocation, OperationAnswer } from '../../fhir/service.ts'
import { displaysOf } from '../display.ts'
import type { ExpandedCode } from '../expanded-codes.ts'
import type { Json } from '../expansion-contract.ts'
import { type CodeIssue, toIssue } from './code-issue.ts'
import { type InputCoding, toParameters } from './operation-inputs.ts'

/**
 * The code found for a coding, or a sentence that says why there is none; `perhaps`: why it is not known whether there is
 * one, and the coding counts as valid. `issues` say the same, and more. `known`: what its code system says of a code that the value
 * set does not have.
 */
export type Found =
  | { readonly coding: InputCoding; readonly one: ExpandedCode }
  | {
      readonly coding: InputCoding
      readonly why: string
      readonly issues: readonly CodeIssue[]
      readonly known?: ExpandedCode
    }
  | { readonly coding: InputCoding; readonly perhaps: string }

/** Options of the request. */
export interface Asking {
  readonly language: string | undefined
  /** With false, abstract codes are not valid. */
  readonly abstract: boolean | undefined
  readonly concept: { readonly coding?: readonly InputCoding[] } | undefined
  /** Whether the code came in a coding. */
  readonly isCoding: boolean
  /** The value set; undefined where a code system is asked. */
  readonly valueSet: string | undefined
}

const MAX_CHARACTERS = 200
/** Maximum number of displays in a message. */
const MAX_DISPLAYS = 5

export const askingOf = ({ inputs }: Pick<Invocation, 'inputs'>, valueSet?: string): Asking => ({
  language: inputs.get('displayLanguage'),
  abstract: inputs.get('abstract'),
  concept: inputs.get('codeableConcept'),
  isCoding: inputs.get('coding') !== undefined,
  valueSet,
})

export const nameOf = ({ system = '', code = '' }: InputCoding): string => `${system}|${code}`.slice(0, MAX_CHARACTERS)

/** Without a system it is no code of any value set or code system. */
export const withoutSystem = (coding: InputCoding): Found => {
  const code = (coding.code ?? '').slice(0, MAX_CHARACTERS)
  const why = `The code ${code} has no system, so it is no code of any value set or code system; give its system.`
  return { coding, why, issues: [{ severity: 'error', detail: 'invalid-data', text: why, at: '' }] }
}

/** HL7's validator takes such a code for valid, too, with a warning. */
export const notInFragment = (coding: InputCoding): string =>
  `${nameOf(coding)} is not in the fragment of its code system that is here; another fragment may have it.`

const toText = (display: string): string => display.trim().replace(/\s+/g, ' ').toLowerCase()

const displayFault = (
  coding: InputCoding,
  displays: readonly string[],
  language: string | undefined,
): string | undefined => {
  const { display, code } = coding
  if (display === undefined || displays.length === 0 || displays.some((one) => toText(one) === toText(display)))
    return undefined
  const names = displays
    .slice(0, MAX_DISPLAYS)
    .map((one) => `"${one}"`)
    .join(' or ')
  return `The display of ${code}${language === undefined ? '' : ` in the language ${language}`} is ${names}.`
}

interface Judged {
  readonly coding: InputCoding
  readonly one: ExpandedCode | undefined
  /** Undefined where the coding is valid. */
  readonly why: string | undefined
  /** What a person should know of a valid coding. */
  readonly note?: string | undefined
  readonly display: string | undefined
  readonly isFound: boolean
  readonly issues: readonly CodeIssue[]
}

const inactiveIssue = (coding: InputCoding): CodeIssue => {
  const text = `${nameOf(coding)} is inactive: it should not be used any more.`
  return { severity: 'warning', detail: 'code-comment', text, at: '' }
}

const judge = (found: Found, { language, abstract, valueSet }: Asking): Judged => {
  const { coding } = found
  const none = { coding, one: undefined, display: undefined }
  if ('why' in found) {
    const { why, issues, known } = found
    const more = known?.isInactive === true ? [inactiveIssue(coding)] : []
    const display = known && displaysOf(known, language)[0]
    return { coding, one: known, display, why, isFound: false, issues: [...issues, ...more] }
  }
  if ('perhaps' in found) {
    const issue: CodeIssue = { severity: 'warning', detail: 'invalid-code', text: found.perhaps, at: 'code' }
    return { ...none, why: undefined, note: found.perhaps, isFound: true, issues: [issue] }
  }
  const { one } = found
  const displays = displaysOf(one, language)
  const issues: CodeIssue[] = []
  const isExcluded = abstract === false && one.isAbstract
  const rule = isExcluded
    ? `${nameOf(coding)} is abstract: it groups other codes and is not to be used itself.`
    : undefined
  if (rule !== undefined) issues.push({ severity: 'error', detail: 'code-rule', text: rule, at: 'code' })
  if (rule !== undefined && valueSet !== undefined) {
    const text = `${nameOf(coding)} is not in the value set ${valueSet.slice(0, MAX_CHARACTERS)}.`
    issues.push({ severity: 'error', detail: 'not-in-vs', text, at: 'code' })
  }
  const wrong = displayFault(coding, displays, language)
  if (wrong !== undefined) issues.push({ severity: 'error', detail: 'invalid-display', text: wrong, at: 'display' })
  if (coding.code !== one.code) {
    const text = `The code system writes ${nameOf(coding)} as ${one.code.slice(0, MAX_CHARACTERS)}; write it so, too.`
    issues.push({ severity: 'information', detail: 'code-rule', text, at: 'code' })
  }
  const inactive = one.isInactive ? inactiveIssue(coding) : undefined
  if (inactive !== undefined) issues.push(inactive)
  return { coding, one, why: rule ?? wrong, note: inactive?.text, display: displays[0], isFound: !isExcluded, issues }
}

/** The property `status` of the code, where its code system gives it. */
const statusOf = (one: ExpandedCode | undefined): string | undefined => {
  const { value } = one?.concept?.values.find(({ code }) => code === 'status') ?? {}
  const [status] = Object.values(value ?? {})
  return typeof status === 'string' ? status : undefined
}

/** Of several codings, one that is not in the value set is no error yet. */
const inConcept = (issue: CodeIssue): CodeIssue =>
  issue.detail === 'not-in-vs' ? { ...issue, severity: 'information', detail: 'this-code-not-in-vs' } : issue

const issuesOf = (
  judged: readonly Judged[],
  isValid: boolean,
  { concept, isCoding, valueSet }: Asking,
): readonly Json[] => {
  if (concept === undefined)
    return judged.flatMap(({ issues }) => issues.map((one) => toIssue(one, isCoding ? 'Coding' : '')))
  const whole: CodeIssue = {
    severity: 'error',
    detail: 'not-in-vs',
    text: `No coding of the concept is in the value set ${valueSet?.slice(0, MAX_CHARACTERS)}.`,
    at: undefined,
  }
  const isMissing = valueSet !== undefined && !isValid && judged.every(({ isFound }) => !isFound)
  return [
    ...(isMissing ? [toIssue(whole, '')] : []),
    ...judged.flatMap(({ coding, issues }) =>
      issues.map((one) => toIssue(inConcept(one), `CodeableConcept.coding[${concept.coding?.indexOf(coding) ?? 0}]`)),
    ),
  ]
}

const given = (name: string, member: string, value: unknown): Json | undefined =>
  value === undefined ? undefined : { name, [member]: value }

export const toAnswer = (found: readonly Found[], asking: Asking): OperationAnswer => {
  const judged = found.map((each) => judge(each, asking))
  const right = judged.find(({ why }) => why === undefined)
  const shown = right ?? judged.find(({ isFound }) => isFound)
  const message =
    right === undefined ? (shown === undefined ? judged : [shown]).map(({ why }) => why).join(' ') : right.note
  const issue = issuesOf(judged, right !== undefined, asking)
  const { concept } = asking
  const about = shown ?? (concept === undefined ? judged[0] : undefined)
  const { coding, one } = about ?? {}
  const unknown = new Set(judged.flatMap(({ issues }) => issues.flatMap((each) => each.unknown ?? [])))
  return {
    resource: toParameters([
      { name: 'result', valueBoolean: right !== undefined },
      given('message', 'valueString', message),
      given('display', 'valueString', about?.display),
      given('code', 'valueCode', coding?.code),
      given('system', 'valueUri', one?.system ?? coding?.system),
      given('version', 'valueString', one?.version),
      given('codeableConcept', 'valueCodeableConcept', concept),
      given('normalized-code', 'valueCode', one === undefined || one.code === coding?.code ? undefined : one.code),
      given('inactive', 'valueBoolean', one?.isInactive === true ? true : undefined),
      given('status', 'valueCode', statusOf(one)),
      ...Array.from(unknown, (canonical) => ({ name: 'x-unknown-system', valueCanonical: canonical })),
      given('issues', 'resource', issue.length === 0 ? undefined : { resourceType: 'OperationOutcome', issue }),
    ]),
  }
}
