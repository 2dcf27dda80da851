/** Turns an answer in JSON into one in XML. */
import type { DirectAnswer, RequestContext } from '../../../kernel/index.ts'
import { FHIR_JSON, FHIR_XML } from '../http/media.ts'
import type { XmlConversion } from './conversion.ts'
import type { XmlForm } from './xml-form.ts'

/**
 * Browsers show XML as a document of this server, in which XHTML with a script would run. So it is given no origin and may
 * load nothing.
 */
export const XML_HEADERS: readonly string[] = Object.freeze([
  ...['content-security-policy', "sandbox; default-src 'none'"],
])

const VARIES = ['vary', 'accept'] as const

const withoutPrevious = (headers: readonly string[]): string[] => {
  const kept: string[] = []
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string
    if (name !== 'content-type' && name !== 'content-security-policy') kept.push(name, headers[at + 1] as string)
  }
  return kept
}

/** Leaves an answer alone that is no FHIR, such as the content of a Binary. Its body must not be compressed. Throws 406. */
export const toXmlAnswer = async (
  xml: Pick<XmlConversion, 'write'>,
  ctx: RequestContext,
  answer: DirectAnswer,
  { pretty }: XmlForm,
): Promise<DirectAnswer> => {
  const { status, headers, body } = answer
  if (body === undefined || !headers.includes(FHIR_JSON)) return answer
  const written = await xml.write(ctx, body, pretty)
  const kept = withoutPrevious(headers)
  return {
    status,
    headers: [...kept, 'content-type', FHIR_XML, ...XML_HEADERS, ...(kept.includes('vary') ? [] : VARIES)],
    body: written,
    length: written.length,
  }
}
