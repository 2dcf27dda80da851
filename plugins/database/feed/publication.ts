/** What a commit publishes to all servers of its database, and the form in which `cluster_change` stores it. */

/** A resource has got a new version. */
export interface ResourceChange {
  readonly type: string
  readonly id: string
  /** The resource key. */
  readonly rid: number
  readonly version: number
  /** Time of the version, in microseconds since the epoch. */
  readonly stamp: number
  readonly deleted: boolean
}

/** Something else has changed that servers keep in memory. `subject` says which one, where it is one. */
export interface Note {
  readonly about: 'search-columns' | 'packages' | 'grant' | 'job' | 'terminology'
  readonly subject?: string
}

export type Publication = ResourceChange | Note

export const isNote = (one: Publication): one is Note => 'about' in one

type ChangeRow = readonly [type: string, id: string, rid: number, version: number, stamp: number, deleted: 0 | 1]
type NoteRow = readonly [about: string, subject?: string]

const toRow = (one: Publication): ChangeRow | NoteRow => {
  if (isNote(one)) return one.subject === undefined ? [one.about] : [one.about, one.subject]
  return [one.type, one.id, one.rid, one.version, one.stamp, one.deleted ? 1 : 0]
}

/** JSON: a list of lists, of six members for a change, and of one or two for a note. */
export const encodePublications = (all: readonly Publication[]): Buffer => Buffer.from(JSON.stringify(all.map(toRow)))

/** Throws for what is not in this form. Notes that only a newer build knows are given as they are. */
export const decodePublications = (body: string): readonly Publication[] =>
  (JSON.parse(body) as readonly (ChangeRow | NoteRow)[]).map((row) => {
    if (row.length <= 2) {
      const [about, subject] = row as unknown as readonly [Note['about'], string | undefined]
      return subject === undefined ? { about } : { about, subject }
    }
    const [type, id, rid, version, stamp, deleted] = row as ChangeRow
    return { type, id, rid, version, stamp, deleted: deleted === 1 }
  })
