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

export const createKnownTerms = (database: Pick<Database, 'get'>): KnownTerms => {
  const terms = new Map<number, string>()
  const of = async (epoch: number): Promise<string> => {
    const known = terms.get(epoch)
    if (known !== undefined) return known
    const found = await readEpoch(database, epoch)
    if (found === undefined) throw new Error(`the database has no epoch ${epoch}`)
    terms.set(epoch, found.term)
    return found.term
  }
  return {
    of,
    placeOf: async (epoch, spot) => ({
      ...{ epoch, term: termMarkOf(await of(epoch)) },
      ...{ seq: spot.seq, within: spot.within },
    }),
    async has({ epoch, term, seq }, current) {
      const known = terms.get(epoch)
      if (epoch === current && known !== undefined) return termMarkOf(known) === term
      const found = await readEpoch(database, epoch)
      return (
        found !== undefined && termMarkOf(found.term) === term && (found.lastSeq === undefined || seq <= found.lastSeq)
      )
    },
    clear: () => terms.clear(),
  }
}
