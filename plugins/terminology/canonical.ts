/** A canonical URL with its version. https://hl7.org/fhir/R4/references.html#canonical */

export interface Canonical {
  readonly url: string
  readonly version: string | undefined
}

export const readCanonical = (text: string): Canonical => {
  const bar = text.lastIndexOf('|')
  return bar < 0 ? { url: text, version: undefined } : { url: text.slice(0, bar), version: text.slice(bar + 1) }
}

/** The name of a version of `url`, which may hold a bar itself. */
export const joinVersion = (url: string, version: string | undefined): string =>
  version === undefined ? url : `${url}|${version}`
