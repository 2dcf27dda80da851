/** Reads the References of a resource and the target of each, without reading other resources. https://hl7.org/fhir/R4/references.html */
import type { OwnUrl } from '../../../kernel/index.ts'
import { isOwnBase } from './is-own-base.ts'
import { readLiteral } from './literal.ts'
import { createLocalTargets } from './local-targets.ts'
import type { OutgoingReference, ReadReference } from './read-reference.ts'
import type { FoundReference, ReferenceWalker } from './reference-walker.ts'

type Json = Readonly<Record<string, unknown>>

const TYPE_URL = 'http://hl7.org/fhir/StructureDefinition/'

const typeOf = (resource: Json | undefined): string | undefined =>
  typeof resource?.resourceType === 'string' ? resource.resourceType : undefined

/** In the order of the resource. Absolute references whose base is `ownUrl` point at this server. */
export const readReferences = (
  walker: ReferenceWalker,
  isType: (name: string) => boolean,
  resource: Json,
  ownUrl: OwnUrl | undefined,
): readonly ReadReference[] => {
  const inside = createLocalTargets()
  const statedOf = ({ value: { type } }: FoundReference): string | undefined => {
    if (typeof type !== 'string') return undefined
    const name = type.startsWith(TYPE_URL) ? type.slice(TYPE_URL.length) : type
    return isType(name) ? name : undefined
  }
  const pointingOf = (text: string, { scope }: FoundReference): OutgoingReference => {
    if (text === '') return { to: 'nothing' }
    if (text.startsWith('#')) return { to: 'inside', type: typeOf(inside.contained(text, scope)) }
    const entry = inside.entry(text, scope)
    if (entry !== undefined) return { to: 'inside', type: typeOf(entry) }
    const literal = readLiteral(text)
    if (literal === undefined) return { to: 'elsewhere', type: undefined }
    const { base, type, id, version } = literal
    if (isOwnBase(base, ownUrl)) return { to: 'here', type, target: { type, id, version } }
    return { to: 'elsewhere', type: isType(type) ? type : undefined }
  }
  return walker.references(resource).map((found): ReadReference => {
    const text = typeof found.value.reference === 'string' ? found.value.reference : ''
    return { text, allowed: found.targets, stated: statedOf(found), pointing: pointingOf(text, found) }
  })
}
