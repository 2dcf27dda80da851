/** A patch that was sent, in one of three forms, as a function from one version to the next. */
import { isExactObject, parseExactly } from '../json/exact.ts'
import { readJson } from '../json/read.ts'
import type { Elements } from './elements.ts'
import { PatchImmutable, PatchMalformed, PatchType } from './errors.ts'
import { applyPathPatch } from './fhirpath-patch.ts'
import { applyJsonPatch, readJsonPatch } from './json-patch.ts'
import { applyMergePatch, readMergePatch } from './merge-patch.ts'
import { readPathPatch } from './path-operations.ts'

export const ACCEPT_PATCH = 'application/json-patch+json, application/fhir+json, application/merge-patch+json'

type Form = 'json' | 'merge' | 'fhirpath'

const FORMS: Readonly<Record<string, Form>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/fhir+json': 'fhirpath',
  'application/json': 'fhirpath',
  'text/json': 'fhirpath',
  'application/json+fhir': 'fhirpath',
}

/** Throws 415 with Accept-Patch for a media type that is none of a patch in UTF-8. */
export const formOf = (mediaType: string): Form => {
  const [type = '', ...parameters] = mediaType.toLowerCase().split(';')
  const form = FORMS[type.trim()]
  const isFine = parameters.every((one) => {
    const [name = '', value = ''] = one.split('=').map((part) => part.trim().replace(/^"(.*)"$/, '$1'))
    if (name === 'charset') return value === 'utf-8' || value === 'utf8'
    return name !== 'fhirversion' || value === '4.0' || value === '4.0.1'
  })
  if (form === undefined || !isFine)
    throw PatchType(mediaType.slice(0, 100)).with({ headers: { 'accept-patch': ACCEPT_PATCH } })
  return form
}

/** The next version from the JSON of the current one. Throws 422; NotLoaded for a type whose elements are not known yet. */
export type Patch = (json: string) => string

const SERVER_OWNED = ['versionId', 'lastUpdated'] as const

const checkOwn = (before: Record<string, unknown>, after: unknown): void => {
  if (!isExactObject(after)) throw PatchMalformed('what it makes is no resource')
  for (const name of ['resourceType', 'id']) if (after[name] !== before[name]) throw PatchImmutable(name)
  const [one, other] = [before.meta, after.meta]
  if (!isExactObject(one) || !isExactObject(other)) return
  for (const name of SERVER_OWNED)
    if (other[name] !== undefined && other[name] !== one[name]) throw PatchImmutable(`meta.${name}`)
}

/** `text` is strict JSON. Throws 400 for what is no patch of its form, 413 for too large a one. */
export const readPatch = (elements: Elements, type: string, form: Form, text: string): Patch => {
  const value = parseExactly(text)
  const json = form === 'json' ? readJsonPatch(value) : []
  const merge = form === 'merge' ? readMergePatch(value) : {}
  const path = form === 'fhirpath' ? readPathPatch(value) : []
  return (current) => {
    const document = parseExactly(current) as Record<string, unknown>
    const { resourceType, id, meta } = document
    const before = { resourceType, id, meta: isExactObject(meta) ? { ...meta } : meta }
    const after =
      form === 'json'
        ? applyJsonPatch(document, json)
        : form === 'merge'
          ? applyMergePatch(document, merge)
          : applyPathPatch(elements, type, document, path)
    checkOwn(before, after)
    return JSON.stringify(after)
  }
}

/** Bytes of a patch as strict JSON. Throws 400. */
export const readPatchText = (bytes: Uint8Array): string => readJson(bytes).text
