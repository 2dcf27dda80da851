/** Finds changes that a server acknowledged and lost. */

export interface Acknowledged {
  /** Ids of Patients. */
  readonly created: readonly string[]
  /** Id of a Basic that is updated over and over → its newest version. */
  readonly versions: ReadonlyMap<string, number>
}

export type Ask = (path: string) => Promise<{ readonly status: number; json(): unknown }>

interface History {
  readonly total: number
  readonly entry: readonly { readonly response: { readonly etag: string } }[]
}

/** Returns a sentence for each loss, and for each gap in a history. */
export const findLosses = async (ask: Ask, { created, versions }: Acknowledged): Promise<string[]> => {
  const losses: string[] = []
  for (const id of created) if ((await ask(`/Patient/${id}`)).status !== 200) losses.push(`Patient/${id} is not there`)
  for (const [id, version] of versions) {
    const { total, entry } = (await (await ask(`/Basic/${id}/_history?_count=1000`)).json()) as History
    if (total < version) losses.push(`Basic/${id} had version ${version}, the newest is ${total}`)
    const tags = entry.map(({ response }) => response.etag)
    const expected = tags.map((_, at) => `W/"${total - at}"`)
    if (tags.join() !== expected.join()) losses.push(`Basic/${id} has gaps: ${tags.join(' ')}`)
  }
  return losses
}
