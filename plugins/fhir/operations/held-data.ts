/** What an operation may look at, as plugins see it. */

/** A current version. */
export interface Held {
  readonly type: string
  readonly id: string
  readonly version: number
  /** Milliseconds since the epoch. */
  readonly lastUpdated: number
  /** As it is stored. */
  readonly json: string
  /** Parsed anew at each call. */
  parse(): Record<string, unknown>
}

export interface Data {
  /** Throws 404 and 410, also for what this caller may not see. */
  read(type: string, id: string): Promise<Held>
  /** At most `most` of the resources that match the parameters of `query`, newest first. Throws 400. */
  search(type: string, query: string, most: number): Promise<readonly Held[]>
}
