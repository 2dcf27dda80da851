/** The text of a definition as it is shown: the file of the package with the id of this server, and marked with its package. */
import { membersAt, skipSpace, toResourceTemplate } from '../model/service.ts'
import { toInstant } from '../storage/service.ts'

/** The extension of FHIR by which an artifact names the package it comes from. */
export const PACKAGE_SYSTEM = 'http://hl7.org/fhir/StructureDefinition/package-source'

const insert = (text: string, at: number, added: string): string => text.slice(0, at) + added + text.slice(at)

/** Adds the tag to `meta`. All other characters stay as they are. */
const withTag = (text: string, tag: string): string => {
  const start = skipSpace(text, 0)
  const members = membersAt(text, start)
  const meta = members.find(({ key }) => key === 'meta')
  const behind = members.find(({ key }) => key === 'resourceType')?.valueEnd ?? start + 1
  if (meta === undefined || text[meta.valueStart] !== '{') return insert(text, behind, `,"meta":{"tag":[${tag}]}`)
  const inner = membersAt(text, meta.valueStart)
  const tags = inner.find(({ key }) => key === 'tag')
  if (tags === undefined) return insert(text, meta.valueEnd - 1, `${inner.length === 0 ? '' : ','}"tag":[${tag}]`)
  const isEmpty = text[skipSpace(text, tags.valueStart + 1)] === ']'
  return insert(text, tags.valueEnd - 1, isEmpty ? tag : `,${tag}`)
}

/** `pack`: `name@version`. `versionTime`: microseconds since the epoch. */
export const toMarkedText = (json: string, pack: string, id: string, versionTime: number): string => {
  const text = withTag(json, JSON.stringify({ system: PACKAGE_SYSTEM, code: pack }))
  return toResourceTemplate({ text, members: membersAt(text, skipSpace(text, 0)) }).fill(id, 1, toInstant(versionTime))
}
