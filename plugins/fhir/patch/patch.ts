/** Turns a patch, in one of its three forms, into a function that makes the next version from the current one. */

import type { Elements } from '../../model/service.ts'
import { isObject, parseExact, parseJson } from '../../model/service.ts'
import { PatchEmpty, PatchImmutable, PatchMalformed, PatchType } from './errors.ts'
import { applyPathPatch } from './fhirpath-patch.ts'
import { applyJsonPatch, readJsonPatch } from './json-patch.ts'
import { applyMergePatch, readMergePatch } from './merge-patch.ts'
import { readPathPatch } from './path-operations.ts'

export const ACCEPT_PATCH =
  'application/json-patch+json, application/fhir+json, application/fhir+xml, application/merge-patch+json'

/** `plain`: the media type says only that it is JSON. */
export type PatchForm = 'json' | 'merge' | 'fhirpath' | 'plain'

const FORMS: Readonly<Record<string, PatchForm>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/fhir+json': 'fhirpath',
  'application/json': 'plain',
  'text/json': 'plain',
  'application/json+fhir': 'fhirpath',
  // In XML only Parameters are a patch. They are made JSON before they are read.
  'application/fhir+xml': 'fhirpath',
  'application/xml': 'fhirpath',
  'text/xml': 'fhirpath',
  'application/xml+fhir': 'fhirpath',
}

const refuseType = (mediaType: string): never => {
  throw PatchType(mediaType.slice(0, 100)).with({ headers: { 'accept-patch': ACCEPT_PATCH } })
}

/** The form for a media type. Throws 415 with Accept-Patch when it is not that of a patch in UTF-8. */
export const formOf = (mediaType: string): PatchForm => {
  const [type = '', ...parameters] = mediaType.toLowerCase().split(';')
  const form = Object.hasOwn(FORMS, type.trim()) ? FORMS[type.trim()] : undefined
  const isFine = parameters.every((one) => {
    const [name = '', value = ''] = one.split('=').map((part) => part.trim().replace(/^"(.*)"$/, '$1'))
    if (name === 'charset') return value === 'utf-8' || value === 'utf8'
    return name !== 'fhirversion' || value === '4.0' || value === '4.0.1'
  })
  return form === undefined || !isFine ? refuseType(mediaType) : form
}

/**
 * Makes the JSON of the next version from that of the current one; undefined when the patch changes nothing. Throws
 * 422, and NotLoaded for a type whose elements are not loaded yet.
 */
export type Patch = (json: string) => string | undefined

const SERVER_OWNED = ['versionId', 'lastUpdated'] as const

const checkOwn = (before: Record<string, unknown>, after: unknown): void => {
  if (!isObject(after)) throw PatchMalformed('what it makes is no resource')
  for (const name of ['resourceType', 'id']) if (after[name] !== before[name]) throw PatchImmutable(name)
  const [one, other] = [before.meta, after.meta]
  if (!isObject(one) || !isObject(other)) return
  for (const name of SERVER_OWNED)
    if (other[name] !== undefined && other[name] !== one[name]) throw PatchImmutable(`meta.${name}`)
}

/**
 * FHIR JSON may be sent as application/json, so Parameters are taken as a FHIRPath Patch. The other forms have media
 * types of their own; as application/json they are refused with 415.
 */
const formOfPlain = (value: unknown): PatchForm =>
  isObject(value) && value.resourceType === 'Parameters' ? 'fhirpath' : refuseType('application/json')

/** `text` is strict JSON. Throws 400 when it is not a patch of this form, 413 when it is too large, 415. */
export const readPatch = (elements: Elements, type: string, given: PatchForm, text: string): Patch => {
  const value = parseExact(text)
  const form = given === 'plain' ? formOfPlain(value) : given
  const json = form === 'json' ? readJsonPatch(value) : []
  const merge = form === 'merge' ? readMergePatch(value) : {}
  const path = form === 'fhirpath' ? readPathPatch(value) : []
  return (current) => {
    const document = parseExact(current) as Record<string, unknown>
    const { resourceType, id, meta } = document
    const before = { resourceType, id, meta: isObject(meta) ? { ...meta } : meta }
    // Compared after serializing both, because the stored text may have other whitespace.
    const unpatched = JSON.stringify(document)
    const after =
      form === 'json'
        ? applyJsonPatch(document, json)
        : form === 'merge'
          ? applyMergePatch(document, merge)
          : applyPathPatch(elements, type, document, path)
    checkOwn(before, after)
    const patched = JSON.stringify(after)
    return patched === unpatched ? undefined : patched
  }
}

/** Parses the bytes of a patch as strict JSON and returns the text. Throws 400. */
export const readPatchText = (bytes: Uint8Array): string => {
  if (bytes.length === 0) throw PatchEmpty()
  return parseJson(bytes).text
}
