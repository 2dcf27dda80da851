/** Builds the Bundle that answers a batch or transaction. https://hl7.org/fhir/R4/http.html#transaction-response */
import { httpModule, type RequestContext, type ServerError, toOutcome } from '../../../kernel/index.ts'
import { toInstant } from '../../storage/service.ts'
import { type Answer, isLocated } from '../interactions/answer.ts'
import { isTransformed, presentVersion } from '../presentation/present.ts'
import { toETag } from '../response/etag.ts'
import { changeOutcome, versionPath } from '../response/respond.ts'
import { urlOf } from '../response/url-of.ts'
import type { BundleEntry } from './bundle-request.ts'
import { BundleAnswerTooLarge } from './errors.ts'

const MAX_CHARS = 64 * 1024 * 1024 // an answer is built in memory, so its size is limited

const statusText = (status: number): string => `${status} ${httpModule.STATUS_CODES[status] ?? ''}`.trimEnd()

const resourceOf = ({ shows, version, type, presentation, text }: Answer): string | undefined => {
  if (shows === 'text') return text?.toString()
  if (shows !== 'version' || version === undefined) return undefined
  return type !== undefined && presentation !== undefined && isTransformed(presentation)
    ? presentVersion(version, type, presentation)
    : version.text
}

/** One entry of the answer, as JSON. */
export const answeredEntry = (request: RequestContext, { method }: BundleEntry, answer: Answer): string => {
  const { status, version, shows } = answer
  const resource = method === 'HEAD' ? undefined : resourceOf(answer)
  // Version 0 stands for a resource that never existed.
  const known = version !== undefined && version.version > 0 ? version : undefined
  const fullUrl =
    known === undefined || resource === undefined
      ? ''
      : `"fullUrl":${JSON.stringify(urlOf(request, known.type, known.id))},`
  let response = `"status":"${statusText(status)}"`
  if (known !== undefined) {
    if (isLocated(answer)) response += `,"location":"${versionPath(known)}"`
    response += `,"etag":${JSON.stringify(toETag(known.version))},"lastModified":"${toInstant(known.versionTime)}"`
  }
  if (shows === 'outcome' && version !== undefined) response += `,"outcome":${changeOutcome(version, answer.warnings)}`
  return `{${fullUrl}${resource === undefined ? '' : `"resource":${resource},`}"response":{${response}}}`
}

/** The answer to an entry that was refused. */
export const refusedEntry = (error: ServerError): string =>
  `{"response":{"status":"${statusText(error.status)}","outcome":${JSON.stringify(toOutcome(error))}}}`

/** Collects the entries of an answer within the limit on its size. */
export const createAnswerEntries = (count: number) => {
  const entries: string[] = new Array(count).fill('')
  const kept = new Map<number, string>()
  let chars = 0
  const set = (index: number, entry: string): void => {
    if (chars + entry.length > MAX_CHARS) throw BundleAnswerTooLarge(MAX_CHARS)
    chars += entry.length
    entries[index] = entry
  }
  return {
    /** Removes all entries but those that were added by `keep`. */
    clear(): void {
      chars = 0
      entries.fill('')
      for (const [index, entry] of kept) set(index, entry)
    },
    /** Throws 413 when the answer would become too large; the entry is not added then. */
    set,
    /** Like `set`, for an entry that stays when the others are removed. */
    keep(index: number, entry: string): void {
      set(index, entry)
      kept.set(index, entry)
    },
    /** Adds a refusal without counting it: refusals are small, and each entry must have an answer. */
    refuse(index: number, error: ServerError): void {
      entries[index] = refusedEntry(error)
    },
    toBundle: (id: string, kind: 'batch' | 'transaction'): string =>
      `{"resourceType":"Bundle","id":"${id}","type":"${kind}-response"${entries.length === 0 ? '' : `,"entry":[${entries.join(',')}]`}}`,
  }
}
