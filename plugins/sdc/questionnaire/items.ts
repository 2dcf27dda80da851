/** Items of a Questionnaire, as far as this plugin reads them. */
import { type Json, objectsIn, textOf } from './json.ts'

export interface Item extends Json {
  readonly linkId: string
  readonly type: string
}

/** The items of a Questionnaire or of an item. Those without linkId or type are left out: no Questionnaire may have them. */
export const itemsOf = (parent: Json): readonly Item[] =>
  objectsIn(parent.item).filter(
    (one): one is Item => textOf(one.linkId) !== undefined && textOf(one.type) !== undefined,
  )

/** The resource that is contained under a local reference such as `#a`; undefined where there is none. */
export const containedIn = (resource: Json, reference: unknown): Json | undefined =>
  typeof reference === 'string' && reference.startsWith('#')
    ? objectsIn(resource.contained).find(({ id }) => id === reference.slice(1))
    : undefined

/** The canonical of a resource with its version; undefined where it has no url. */
export const canonicalOf = ({ url, version }: Json): string | undefined =>
  typeof url !== 'string' ? undefined : typeof version === 'string' ? `${url}|${version}` : url
