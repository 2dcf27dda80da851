/** Finds a code system that is to be put into the index, unless it is small. */
import type { Resources } from '../../fhir/service.ts'
import type { Definitions } from '../../packages/service.ts'
import { storedLength } from '../../storage/service.ts'
import { orNone } from '../or-none.ts'
import { nameOfPackaged } from './index-reader.ts'
import type { SystemToIndex } from './indexing-messages.ts'
import { mayBeLarge } from './is-large.ts'
import type { SystemSource } from './tables.ts'

export interface FoundSystem {
  readonly edition: string
  readonly system: SystemToIndex
}

/** Undefined where there is none any more, or it is small. */
export type FindSystem = (source: SystemSource, name: string) => Promise<FoundSystem | undefined>

export const createFindSystem = (resources: () => Resources, definitions: Definitions): FindSystem => {
  const storedSystem = async (id: string): Promise<FoundSystem | undefined> => {
    const session = resources().as({ kind: 'internal', purpose: 'terminology' })
    const held = await orNone(session.read('CodeSystem', id))
    if (held === undefined) return undefined
    const { bytes, encoding } = held.packed
    const length = storedLength(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), encoding)
    if (length !== undefined && !mayBeLarge(length)) return undefined
    // The thread is given a copy, because other parts of the buffer are in use here.
    return { edition: String(held.version), system: { packed: { bytes: Uint8Array.from(bytes), encoding } } }
  }
  const packagedSystem = async (name: string): Promise<FoundSystem | undefined> => {
    const [, url, version] = JSON.parse(name) as [string, string, string | null]
    const found = await definitions.find('CodeSystem', url, version ?? undefined)
    if (found === undefined || nameOfPackaged(found) !== name || !mayBeLarge(found.json.length)) return undefined
    return { edition: definitions.fingerprint, system: { json: found.json } }
  }
  return (source, name) => (source === 'stored' ? storedSystem(name) : packagedSystem(name))
}
