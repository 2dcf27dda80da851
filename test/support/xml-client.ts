/** A client that speaks FHIR XML only: it sends XML, and takes no answer that is not XML. */
import * as assert from 'uvu/assert'
import type { AnsweringServer } from './server-with.ts'
import { rootNameOf, valuesAt } from './xml-documents.ts'

export const FHIR_XML = 'application/fhir+xml'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Headers = Readonly<Record<string, string>>

export interface XmlAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
  /** Name of the resource; empty where there is no body. */
  readonly root: string
  values(path: string): readonly string[]
}

export interface XmlClient {
  send(method: Method, url: string, body?: string, headers?: Headers): Promise<XmlAnswer>
}

/** An element of FHIR: `xml('active', 'true')`, or with children. */
export const xml = (name: string, value: string): string => `<${name} value="${value}"/>`
export const resource = (type: string, content: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><${type} xmlns="http://hl7.org/fhir">${content}</${type}>`

export const createXmlClient = (server: AnsweringServer): XmlClient => ({
  async send(method, url, body, headers = {}) {
    const answer = await server.inject({
      method,
      url,
      headers: { accept: FHIR_XML, ...(body !== undefined && { 'content-type': FHIR_XML }), ...headers },
      ...(body === undefined ? {} : { payload: body }),
    })
    const text = answer.body
    const about = `${method} ${url}: ${answer.statusCode} ${text.slice(0, 500)}`
    if (text !== '') assert.is(answer.headers['content-type'], 'application/fhir+xml; charset=utf-8', about)
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text,
      root: text === '' ? '' : rootNameOf(text),
      values: (path) => valuesAt(text, path),
    }
  },
})
