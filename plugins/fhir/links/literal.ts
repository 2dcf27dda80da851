/** A reference that names a resource by type and id. https://hl7.org/fhir/R4/references.html#literal */

export interface Literal {
  /** `https://example.org/fhir`; empty for a relative one. */
  readonly base: string
  readonly type: string
  readonly id: string
  /** Behind `/_history/`. */
  readonly version: string | undefined
}

const LITERAL =
  /^(?:(https?:\/\/.+)\/)?([A-Z][A-Za-z]{0,63})\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/([A-Za-z0-9\-.]{1,64}))?$/

/** Undefined for what is no literal: `#a`, `urn:uuid:…`, `Patient?name=x`, `../x`. */
export const readLiteral = (text: string): Literal | undefined => {
  const found = LITERAL.exec(text)
  return found === null
    ? undefined
    : { base: found[1] ?? '', type: found[2] as string, id: found[3] as string, version: found[4] }
}
