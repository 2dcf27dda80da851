/** Reads XML with a parser that is not the server's, so that what the server writes is held against another reading of XML. */
import { DOMParser, type Document, type Element } from '@xmldom/xmldom'
import * as assert from 'uvu/assert'

export const FHIR = 'http://hl7.org/fhir'

/** Fails for text that is not well-formed. */
export const readDocument = (text: string): Document => {
  const parser = new DOMParser({
    // The parser would take line ends for those of XML 1.1, such as U+0085. XML 1.0, section 2.11
    normalizeLineEndings: (source) => source.replaceAll(/\r\n?/g, '\n'),
    onError: (level, message) => {
      throw new Error(`${level}: ${message} in ${text.slice(0, 300)}`)
    },
  })
  return parser.parseFromString(text, 'text/xml')
}

const childrenOf = (element: Element): readonly Element[] =>
  [...element.childNodes].filter((node): node is Element => node.nodeType === 1)

/** The elements at a path below the root, such as `entry/resource/Patient/name`. All of them have to be in FHIR's namespace. */
export const elementsAt = (document: Document, path: string): readonly Element[] => {
  let found = [document.documentElement as Element]
  for (const step of path.split('/'))
    found = found.flatMap((element) => childrenOf(element).filter(({ localName }) => localName === step))
  for (const element of found) assert.is(element.namespaceURI, FHIR, path)
  return found
}

/** The values of the elements at a path. */
export const valuesAt = (text: string, path: string): readonly string[] =>
  elementsAt(readDocument(text), path).map((element) => element.getAttribute('value') ?? '')

/** The name of the root, which has to be in FHIR's namespace. */
export const rootNameOf = (text: string): string => {
  const root = readDocument(text).documentElement
  assert.is(root?.namespaceURI, FHIR)
  return root?.localName ?? ''
}
