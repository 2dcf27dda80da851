/** The characters of a body in XML, which has to be UTF-8. https://hl7.org/fhir/R4/xml.html */
import { isUtf8 } from 'node:buffer'
import { NotUtf8 } from '../errors.ts'
import { XmlEmpty, XmlEncoding, XmlMalformed } from './errors.ts'

/** The text without a byte order mark. Throws 400. */
export const decodeXml = (bytes: Uint8Array): string => {
  const [first, second] = bytes
  if ((first === 0xfe && second === 0xff) || (first === 0xff && second === 0xfe)) throw XmlEncoding('UTF-16')
  if (!isUtf8(bytes)) throw NotUtf8()
  const hasMark = first === 0xef && second === 0xbb && bytes[2] === 0xbf
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8', hasMark ? 3 : 0)
  if (text.trim() === '') throw XmlEmpty()
  // The parser would take a second mark for the first one.
  if (text.startsWith('\ufeff')) throw XmlMalformed(1, 1, 'U+FEFF stands in front of the document')
  return text
}
