/**
 * An XML parser for text of unknown origin: it refuses a DOCTYPE, and with it all entities but those of XML itself,
 * processing instructions, and other versions and encodings than XML 1.0 in UTF-8.
 */
import { SaxesParser, type SaxesTagNS } from 'saxes'
import { placeAt } from '../text-place.ts'
import { XmlDepth, XmlDoctype, XmlEncoding, XmlInstruction, XmlMalformed } from './errors.ts'

/**
 * Of open elements, narratives included. saxes looks for the namespace of an element in all elements that are open, so
 * without a limit the time would grow with the square of the depth.
 */
const MAX_DEPTH = 200

export type Tag = SaxesTagNS

export interface XmlHandlers {
  /** `start` and `end` are indexes of the text: that of its `<`, and the one behind its `>`. */
  open(tag: Tag, place: { readonly start: number; readonly end: number }): void
  /** `end` is the index behind the end tag. */
  close(tag: Tag, end: number): void
  /** Text between tags; `end` is an index close to its end. */
  text(text: string, end: number, isCdata: boolean): void
  comment(text: string): void
}

const describe = (message: string): readonly [line: number, column: number, what: string] => {
  const [, line = '1', column = '1', what = message] = /^(\d+):(\d+): ([\s\S]*?)\.?$/.exec(message) ?? []
  return [Number(line), Number(column), what.length > 100 ? `${what.slice(0, 97)}...`.toWellFormed() : what]
}

/** Throws 400 with the place of what is wrong. Whatever a handler throws ends the parsing, and is thrown. */
export const parseXml = (text: string, handlers: XmlHandlers): void => {
  const parser = new SaxesParser({ xmlns: true, position: true })
  const refuse = (make: typeof XmlDoctype, ...words: (string | number)[]): never => {
    const { line, column } = placeAt(text, parser.position - 1)
    throw make(line, column, ...words)
  }
  let depth = 0
  parser.on('error', ({ message }) => {
    throw XmlMalformed(...describe(message))
  })
  parser.on('xmldecl', ({ version, encoding }) => {
    if (version !== undefined && version !== '1.0') throw XmlEncoding(`XML ${version.slice(0, 10)}`)
    if (encoding !== undefined && encoding.toUpperCase() !== 'UTF-8') throw XmlEncoding(encoding.slice(0, 40))
  })
  parser.on('doctype', () => refuse(XmlDoctype))
  parser.on('processinginstruction', () => refuse(XmlInstruction))
  parser.on('opentag', (tag) => {
    depth += 1
    if (depth > MAX_DEPTH) refuse(XmlDepth, MAX_DEPTH)
    const end = parser.position
    handlers.open(tag, { start: text.lastIndexOf('<', end - 1), end })
  })
  parser.on('closetag', (tag) => {
    depth -= 1
    handlers.close(tag, parser.position)
  })
  parser.on('text', (piece) => handlers.text(piece, parser.position - 1, false))
  parser.on('cdata', (piece) => handlers.text(piece, parser.position - 1, true))
  parser.on('comment', handlers.comment)
  parser.write(text).close()
}
