/** What clients together know of a few resources, and the answers that contradict it. */

interface Known {
  /** The newest version of each resource that any client knows of. */
  readonly newest: Map<string, number>
  /** The content of each version that was seen. */
  readonly content: Map<string, string>
  /** Marks of writes that were refused; no answer may have them. */
  readonly refused: Set<string>
  readonly seen: Set<string>
  /** Deletions that were sent, and those among them that were answered. */
  readonly deletions: Map<string, { sent: number; ended: number }>
  /** Whether the newest version is known to be a deletion. */
  readonly isDeleted: Map<string, boolean>
  readonly wrong: string[]
  shown: number
}

/** `loses`: versions that were not acknowledged may be seen and lost. */
export const createKnownVersions = (loses: boolean) => {
  const known: Known = {
    ...{ newest: new Map(), content: new Map(), refused: new Set(), seen: new Set(), deletions: new Map() },
    ...{ isDeleted: new Map(), wrong: [], shown: 0 },
  }
  const newestOf = (id: string): number => known.newest.get(id) ?? 0
  const raise = (id: string, version: number, isDeleted: boolean): void => {
    if (version > newestOf(id)) {
      known.newest.set(id, version)
      known.isDeleted.set(id, isDeleted)
    }
  }
  const deletionsOf = (id: string) => {
    const found = known.deletions.get(id) ?? { sent: 0, ended: 0 }
    known.deletions.set(id, found)
    return found
  }
  const note = (what: string, id: string, version: number, content: string | undefined): void => {
    raise(id, version, content === undefined)
    const text = content ?? 'deleted'
    const before = known.content.get(`${id}/${version}`)
    if (before !== undefined && before !== text) known.wrong.push(`${what}: ${id}/${version} is ${text}, was ${before}`)
    known.content.set(`${id}/${version}`, text)
  }
  return {
    known,
    newestOf,
    deletionsOf,
    /** A version that was shown. `atLeast`: the newest one that was known when it was asked for. */
    show(what: string, id: string, version: number, content: string | undefined, atLeast: number): void {
      known.shown += 1
      if (!(version >= atLeast)) known.wrong.push(`${what} shows ${id}/${version}, ${atLeast} was known before`)
      if (content !== undefined) known.seen.add(content)
      if (!loses) note(what, id, version, content)
    },
    /** A version that was acknowledged. */
    acknowledge(what: string, id: string, version: number, content: string | undefined): void {
      known.shown += 1
      if (content !== undefined) known.seen.add(content)
      note(what, id, version, content)
    },
  }
}

export type KnownVersions = ReturnType<typeof createKnownVersions>
