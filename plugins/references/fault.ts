/** What is wrong with one reference. https://hl7.org/fhir/R4/references.html */
import type { IssueCode } from '../../kernel/index.ts'
import type { ReadReference } from '../fhir/service.ts'

export interface Fault {
  readonly code: IssueCode
  /** Continues a sentence that begins with the place and the target. */
  readonly text: string
}

const or = (types: readonly string[]): string => types.join(' or ')

const typeOf = ({ pointing, stated }: ReadReference): string | undefined =>
  pointing.to === 'nothing' ? stated : pointing.type

/** Told from the resource alone, under either policy. */
export const faultOfType = (reference: ReadReference): Fault | undefined => {
  const { allowed, stated, pointing } = reference
  if (pointing.to === 'inside' && pointing.type === undefined)
    return { code: 'not-found', text: 'which is not contained in this resource' }
  const type = typeOf(reference)
  if (type === undefined) return undefined
  if (stated !== undefined && stated !== type)
    return { code: 'business-rule', text: `which is a ${type}, and its type says ${stated}` }
  if (allowed.length > 0 && !allowed.includes(type))
    return { code: 'business-rule', text: `which is a ${type}, where only ${or(allowed)} may stand` }
  return undefined
}

export const NOT_HELD: Fault = { code: 'not-found', text: 'which this server does not hold' }

/** A place on another server, a URN that no entry of a transaction stood for, or what is no address at all. */
export const ELSEWHERE: Fault = { code: 'not-found', text: 'which is no address of a resource on this server' }
