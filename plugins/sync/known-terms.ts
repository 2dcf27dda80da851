/** The random texts of epochs, which distinguish places of the database from those of a history that was lost. */
import { type Database, readEpoch } from '../database/service.ts'
import { type Place, type Spot, termMarkOf } from './place.ts'

export interface KnownTerms {
  /** The text itself. Rejects for an epoch that the database does not have. */
  of(epoch: number): Promise<string>
  placeOf(epoch: number, spot: Spot): Promise<Place>
  /** Whether the database has the epoch of the place, which had not ended before it. `current`: number of the newest epoch. */
  has(place: Place, current: number): Promise<boolean>
  clear(): void
}

interface KnownTerm {
  readonly term: string
  /** Made once: each change that is committed gets a place. */
  readonly mark: string
}

export const createKnownTerms = (database: Pick<Database, 'get'>): KnownTerms => {
  const terms = new Map<number, KnownTerm>()
  const find = async (epoch: number): Promise<KnownTerm> => {
    const known = terms.get(epoch)
    if (known !== undefined) return known
    const found = await readEpoch(database, epoch)
    if (found === undefined) throw new Error(`the database has no epoch ${epoch}`)
    const { term } = found
    const one = { term, mark: termMarkOf(term) }
    terms.set(epoch, one)
    return one
  }
  return {
    of: async (epoch) => (await find(epoch)).term,
    placeOf: async (epoch, spot) => ({
      ...{ epoch, term: (await find(epoch)).mark },
      ...{ seq: spot.seq, within: spot.within },
    }),
    async has({ epoch, term, seq }, current) {
      const known = terms.get(epoch)
      if (epoch === current && known !== undefined) return known.mark === term
      const found = await readEpoch(database, epoch)
      return (
        found !== undefined && termMarkOf(found.term) === term && (found.lastSeq === undefined || seq <= found.lastSeq)
      )
    },
    clear: () => terms.clear(),
  }
}
