/** Finds definitions that were pulled from other terminology servers. */
import type { Database } from '../../database/service.ts'
import type { Canonical } from '../canonical.ts'
import { compareDefinitions } from '../compare-definitions.ts'
import { inSlices, parseInSlices } from '../in-slices.ts'
import { structureFault } from '../structure-fault.ts'
import { type PulledRow, readPulled, readPulledBody } from './tables.ts'

type Json = Readonly<Record<string, unknown>>

export interface PulledDefinitions {
  /**
   * JSON, for `parsePulled`, of the preferred one with this url, and this version where it is given. Undefined where there is none; code systems of the
   * index are not among them.
   */
  find(type: string, canonical: Canonical): Promise<string | undefined>
}

/** Undefined for what is malformed, which earlier versions of this server put into use: it is as if it was not there. */
export const parsePulled = async (json: string | undefined): Promise<Json | undefined> => {
  if (json === undefined) return undefined
  const resource = await parseInSlices(json)
  return (await inSlices(structureFault(resource))) === undefined ? resource : undefined
}

const TYPES: ReadonlySet<string> = new Set(['CodeSystem', 'ValueSet', 'ConceptMap'])

export const createPulledDefinitions = (database: Pick<Database, 'all'>): PulledDefinitions => ({
  async find(type, { url, version }) {
    if (!TYPES.has(type)) return undefined
    const rows = await database.all<PulledRow>(readPulled, [type, url])
    const found = rows
      .filter((row) => version === undefined || row.version === version)
      .sort((one, other) => compareDefinitions(namedOf(one), namedOf(other)))[0]
    if (found === undefined) return undefined
    const [row] = await database.all<{ body: string }>(readPulledBody, [found.source, type, found.name])
    return row?.body
  },
})

const namedOf = ({ version, status }: PulledRow) => ({ version, status })
