/** The value set whose codes are MIME types: they are indexed in parts. */

const MIME_TYPES = /^http:\/\/hl7\.org\/fhir\/ValueSet\/mimetypes(?:\||$)/

/** Is this the value set of MIME types? */
export const isMimeTypes = (valueSet: string): boolean => MIME_TYPES.test(valueSet)
