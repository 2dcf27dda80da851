/** The answers to the entries, put together to the Bundle that answers all. https://hl7.org/fhir/R4/http.html#transaction-response */
import { STATUS_CODES } from 'node:http'
import { type RequestContext, type ServerError, toOutcome } from '../../../kernel/index.ts'
import { toInstant } from '../../storage/service.ts'
import { type Answer, isLocated } from '../interactions/answer.ts'
import { isTransformed, presentVersion } from '../presentation/present.ts'
import { toETag } from '../response/etag.ts'
import { changeOutcome, versionPath } from '../response/respond.ts'
import { urlOf } from '../response/url-of.ts'
import type { BundleEntry } from './bundle-request.ts'
import { BundleAnswerTooLarge } from './errors.ts'

const MAX_CHARS = 64 * 1024 * 1024 // an answer is made in memory, whatever the entries ask for

const statusText = (status: number): string => `${status} ${STATUS_CODES[status] ?? ''}`.trimEnd()

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
  // Version 0 stands for what never was.
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

/** The entry of a batch that was refused. */
export const refusedEntry = (error: ServerError): string =>
  `{"response":{"status":"${statusText(error.status)}","outcome":${JSON.stringify(toOutcome(error))}}}`

/** Collects the entries of an answer, which may be asked for more than memory should hold. */
export const createAnswerEntries = (count: number) => {
  const entries: string[] = new Array(count).fill('')
  let chars = 0
  return {
    clear(): void {
      chars = 0
      entries.fill('')
    },
    /** Throws 413 when the answer grows too large; then the entry is not taken. */
    set(index: number, entry: string): void {
      if (chars + entry.length > MAX_CHARS) throw BundleAnswerTooLarge(MAX_CHARS)
      chars += entry.length
      entries[index] = entry
    },
    /** For refusals: they are small, and the place of each entry is answered. */
    refuse(index: number, error: ServerError): void {
      entries[index] = refusedEntry(error)
    },
    toBundle: (id: string, kind: 'batch' | 'transaction'): string =>
      `{"resourceType":"Bundle","id":"${id}","type":"${kind}-response"${entries.length === 0 ? '' : `,"entry":[${entries.join(',')}]`}}`,
  }
}
