/** The value set of MIME types. Codes bound to it are indexed whole and by their first part. */

const MIME_TYPES = /^http:\/\/hl7\.org\/fhir\/ValueSet\/mimetypes(?:\||$)/

/** True for the canonical URL of the value set of MIME types, with or without a version. */
export const isMimeTypes = (valueSet: string): boolean => MIME_TYPES.test(valueSet)
