/** What is wrong with one reference. https://hl7.org/fhir/R4/references.html */
import { type IssueCode, type OwnUrl, withArticle } from '../../kernel/index.ts'
import type { ReadReference } from '../fhir/service.ts'

export interface ReferenceIssue {
  readonly code: IssueCode
  /** A relative clause: the message is made of the place, the target and this text. */
  readonly text: string
}

const or = (types: readonly string[]): string => types.join(' or ')

const typeOf = ({ pointing, stated }: ReadReference): string | undefined =>
  pointing.to === 'nothing' ? stated : pointing.type

/** The fault that can be seen in the resource alone, under either policy. */
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

/** For a caller with limited access: the same text for a missing and a hidden target. */
export const NOT_VISIBLE: ReferenceIssue = {
  code: 'not-found',
  text: 'which this server does not hold or this access does not cover',
}

const NOT_HERE = 'which is no address of a resource on this server'
const IS_URL = /^https?:/i

/**
 * The fault of a URL of another server, of a URN that no entry of a transaction has, or of text that is not an address.
 * For a URL it names this server's own URL: the client may use another name of the server.
 */
export const onOtherServer = ({ text }: ReadReference, ownUrl: OwnUrl | undefined): ReferenceIssue => {
  if (!IS_URL.test(text)) return { code: 'not-found', text: NOT_HERE }
  const own =
    ownUrl === undefined
      ? 'the server has no URL of its own while [server] public_url is not set'
      : `its own URL, which [server] public_url sets, is ${ownUrl}`
  return { code: 'not-found', text: `${NOT_HERE}: ${own}. Send Type/id for a resource of this server` }
}
