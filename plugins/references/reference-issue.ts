/** What is wrong with one reference. https://hl7.org/fhir/R4/references.html */
import { type IssueCode, type OwnUrl, withArticle } from '../../kernel/index.ts'
import type { ReadReference } from '../fhir/service.ts'

export interface ReferenceIssue {
  readonly code: IssueCode
  /** Continues a sentence that begins with the place and the target. */
  readonly text: string
}

const or = (types: readonly string[]): string => types.join(' or ')

const typeOf = ({ pointing, stated }: ReadReference): string | undefined =>
  pointing.to === 'nothing' ? stated : pointing.type

/** Told from the resource alone, under either policy. */
export const faultOfType = (reference: ReadReference): ReferenceIssue | undefined => {
  const { allowed, stated, pointing } = reference
  if (pointing.to === 'inside' && pointing.type === undefined)
    return { code: 'not-found', text: 'which is not contained in this resource' }
  const type = typeOf(reference)
  if (type === undefined) return undefined
  if (stated !== undefined && stated !== type)
    return { code: 'business-rule', text: `which is ${withArticle(type)}, and its type says ${stated}` }
  if (allowed.length > 0 && !allowed.includes(type))
    return { code: 'business-rule', text: `which is ${withArticle(type)}, where only ${or(allowed)} may stand` }
  return undefined
}

export const NOT_STORED: ReferenceIssue = { code: 'not-found', text: 'which this server does not hold' }

/** To a caller with limited access both are told in the same words. */
export const NOT_VISIBLE: ReferenceIssue = {
  code: 'not-found',
  text: 'which this server does not hold or this access does not cover',
}

const NOT_HERE = 'which is no address of a resource on this server'
const IS_URL = /^https?:/i

/**
 * A place on another server, a URN that no entry of a transaction stood for, or what is no address at all. Of a URL it tells
 * what this server's own one is: the client may have reached the server under another name.
 */
export const onOtherServer = ({ text }: ReadReference, ownUrl: OwnUrl | undefined): ReferenceIssue => {
  if (!IS_URL.test(text)) return { code: 'not-found', text: NOT_HERE }
  const own =
    ownUrl === undefined
      ? 'the server has no URL of its own while [server] public_url is not set'
      : `its own URL, which [server] public_url sets, is ${ownUrl}`
  return { code: 'not-found', text: `${NOT_HERE}: ${own}. Send Type/id for a resource of this server` }
}
