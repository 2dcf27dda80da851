/** The answer of $validate-code: whether one of the codings is valid, and why not. */
import type { OperationAnswer } from '../../fhir/service.ts'
import { displaysOf } from '../display.ts'
import type { ExpandedCode } from '../expanded-codes.ts'
import { type InputCoding, toParameters } from './operation-inputs.ts'

/**
 * The code found for a coding, or a sentence that says why there is none; `perhaps`: why it is not known whether there is
 * one, and the coding counts as valid.
 */
export type Found =
  | { readonly coding: InputCoding; readonly one: ExpandedCode }
  | { readonly coding: InputCoding; readonly why: string }
  | { readonly coding: InputCoding; readonly perhaps: string }

/** Options of the request. */
export interface Asking {
  readonly language: string | undefined
  /** With false, abstract codes are not valid. */
  readonly abstract: boolean | undefined
}

const MAX_CHARACTERS = 200
/** Maximum number of displays in a message. */
const MAX_DISPLAYS = 5

export const nameOf = ({ system = '', code = '' }: InputCoding): string => `${system}|${code}`.slice(0, MAX_CHARACTERS)

export const withoutSystem = ({ code = '' }: InputCoding): string =>
  `The code ${code.slice(0, MAX_CHARACTERS)} has no system, so it is no code of any value set or code system; give its system.`

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

export const toAnswer = (found: readonly Found[], { language, abstract }: Asking): OperationAnswer => {
  const judged = found.map((each) => {
    if ('why' in each) return { why: each.why, display: undefined, isFound: false }
    if ('perhaps' in each) return { why: undefined, note: each.perhaps, display: undefined, isFound: true }
    const displays = displaysOf(each.one, language)
    const isExcluded = abstract === false && each.one.isAbstract
    const why = isExcluded
      ? `${nameOf(each.coding)} is abstract: it groups other codes and is not to be used itself.`
      : displayFault(each.coding, displays, language)
    return { why, display: displays[0], isFound: !isExcluded }
  })
  const right = judged.find(({ why }) => why === undefined)
  const shown = right ?? judged.find(({ isFound }) => isFound)
  const message =
    right === undefined ? (shown === undefined ? judged : [shown]).map(({ why }) => why).join(' ') : right.note
  return {
    resource: toParameters([
      { name: 'result', valueBoolean: right !== undefined },
      message === undefined ? undefined : { name: 'message', valueString: message },
      shown?.display === undefined ? undefined : { name: 'display', valueString: shown.display },
    ]),
  }
}
