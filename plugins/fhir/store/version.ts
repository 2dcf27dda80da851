/** One version of a resource as it is read: with its bytes as they lie in the database. */
import type { ResourceVersion } from '../../../kernel/index.ts'
import { unpackBody } from './body.ts'
import { toMillis } from './stamp.ts'
import { DELETED, GZIP, METHOD_SHIFT, METHODS, type Method, type VersionRow } from './tables.ts'

export class StoredVersion {
  readonly rid: number
  readonly type: string
  readonly id: string
  readonly version: number
  /** Microseconds: place in the order of all versions. */
  readonly stamp: number
  readonly deleted: boolean
  /** The interaction that made it. */
  readonly method: Method
  readonly gzip: boolean
  /** As stored; empty for a deletion. */
  readonly bytes: Buffer
  #plain: Buffer | undefined

  constructor(type: string, row: VersionRow) {
    this.rid = row.rid
    this.type = type
    this.id = row.id
    this.version = row.ver
    this.stamp = row.upd
    this.deleted = (row.flags & DELETED) !== 0
    this.method = METHODS[row.flags >> METHOD_SHIFT] ?? 'PUT'
    this.gzip = (row.flags & GZIP) !== 0
    this.bytes = row.body ?? EMPTY
  }

  /** The response body: UTF-8 JSON. Unpacked once. */
  get plain(): Buffer {
    this.#plain ??= unpackBody(this)
    return this.#plain
  }

  /** Milliseconds since the epoch, as in meta.lastUpdated. */
  get lastUpdated(): number {
    return toMillis(this.stamp)
  }

  /** What hooks are told of it. The text is decoded when asked for. */
  toFact(): ResourceVersion {
    const { type, id, version, lastUpdated, deleted } = this
    const stored = this
    if (deleted) return { type, id, version, lastUpdated }
    return {
      type,
      id,
      version,
      lastUpdated,
      get json() {
        return stored.plain.toString('utf8')
      },
    }
  }
}

const EMPTY = Buffer.alloc(0)
