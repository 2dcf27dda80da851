/**
 * Maps each entry of a transaction to the resource that it stands for, and the links between entries to references.
 * https://hl7.org/fhir/R4/bundle.html#references
 */
import type { OwnUrl } from '../../../kernel/index.ts'
import type { ReferenceKind } from '../../model/service.ts'

/** The resource that an entry stands for once the transaction is committed. */
export interface Identity {
  readonly type: string
  readonly id: string
  /** meta.versionId of the resource in the Bundle. */
  readonly sentVersion: string | undefined
  /** The version on this server, if known before the transaction: 1 for a new resource. */
  readonly version: number | undefined
}

const SCHEME = /^[a-z][a-z0-9+.-]*:/i
const VERSIONED = /^(.+)\/_history\/([A-Za-z0-9\-.]{1,64})$/
/** `http://example.org/fhir/Patient/1` → `http://example.org/fhir/` */
const ROOT = /^(https?:\/\/.+\/)[A-Z][A-Za-z]*\/[A-Za-z0-9\-.]{1,64}$/

export interface Identities {
  add(fullUrl: string, identity: Identity): void
  /** All identities, as plain data for a thread. */
  entries(): readonly (readonly [string, Identity])[]
  /** Returns what replaces a link in the entry with this fullUrl; undefined leaves the link as it is. */
  resolver(fullUrl: string | undefined): (value: string, kind: ReferenceKind) => string | undefined
}

export const createIdentities = (ownUrl: OwnUrl | undefined): Identities => {
  const byUrl = new Map<string, Identity>()
  const own = ownUrl === undefined ? undefined : `${ownUrl}/`

  const find = (value: string, root: string | undefined): Identity | undefined => {
    const found = byUrl.get(value)
    if (found !== undefined || SCHEME.test(value)) return found
    const besides = root === undefined ? undefined : byUrl.get(`${root}${value}`)
    return besides ?? (own === undefined ? undefined : byUrl.get(`${own}${value}`))
  }
  const versioned = (value: string, root: string | undefined): string | undefined => {
    const [, unversioned = '', number = ''] = VERSIONED.exec(value) ?? []
    if (unversioned === '') return undefined
    const identity = find(unversioned, root)
    if (identity === undefined) return undefined
    const { type, id, version, sentVersion } = identity
    if (version === undefined) return `${type}/${id}/_history/${number}`
    // A link to another version than the one in this Bundle does not refer to this transaction.
    return sentVersion === number ? `${type}/${id}/_history/${version}` : undefined
  }
  return {
    add: (fullUrl, identity) => void byUrl.set(fullUrl, identity),
    entries: () => [...byUrl],
    resolver(fullUrl) {
      const root = ROOT.exec(fullUrl ?? '')?.[1] ?? own
      return (value, kind) => {
        if (kind === 'uri') {
          const exact = byUrl.get(value)
          return exact === undefined ? undefined : `${exact.type}/${exact.id}`
        }
        if (value.startsWith('#')) return undefined
        const identity = find(value, root)
        return identity === undefined ? versioned(value, root) : `${identity.type}/${identity.id}`
      }
    },
  }
}
