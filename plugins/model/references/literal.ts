/** Parses references that name a resource by type and id. https://hl7.org/fhir/R4/references.html#literal */

export interface Literal {
  /** `https://example.org/fhir`; empty for a relative reference. */
  readonly base: string
  readonly type: string
  readonly id: string
  /** The version after `/_history/`, as written. */
  readonly version: string | undefined
}

const LITERAL =
  /^(?:(https?:\/\/.+)\/)?([A-Z][A-Za-z]{0,63})\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/([A-Za-z0-9\-.]{1,64}))?$/

const isIn = (code: number, from: number, to: number): boolean => code >= from && code <= to
const isLetter = (code: number): boolean => isIn(code | 32, 97, 122)

/** Parses `Patient/1`, the most frequent form, without a regular expression. Undefined for any other form. */
const readRelative = (text: string): Literal | undefined => {
  const slash = text.indexOf('/')
  const { length } = text
  if (slash < 1 || slash > 64 || length - slash < 2 || length - slash > 65) return undefined
  if (!isIn(text.charCodeAt(0), 65, 90)) return undefined
  for (let at = 1; at < slash; at += 1) if (!isLetter(text.charCodeAt(at))) return undefined
  for (let at = slash + 1; at < length; at += 1) {
    const code = text.charCodeAt(at)
    if (!isLetter(code) && !isIn(code, 48, 57) && code !== 45 && code !== 46) return undefined
  }
  return { base: '', type: text.slice(0, slash), id: text.slice(slash + 1), version: undefined }
}

/** Undefined if the text is not a literal reference, such as `#a`, `urn:uuid:…`, `Patient?name=x` and `../x`. */
export const readLiteral = (text: string): Literal | undefined => {
  const relative = readRelative(text)
  if (relative !== undefined) return relative
  const found = LITERAL.exec(text)
  return found === null
    ? undefined
    : { base: found[1] ?? '', type: found[2] as string, id: found[3] as string, version: found[4] }
}
