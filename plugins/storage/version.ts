/** One version of a resource, with its body as the bytes that the database has. */
import type { FactDetails, OwnUrl, ResourceVersion } from '../../kernel/index.ts'
import { decompressBody, unpackLater } from './body/body.ts'
import type { VersionRow } from './tables.ts'
import { DELETED, FORM, GZIP, METHOD_BITS, METHOD_SHIFT, type Method, VERSION_METHODS } from './version-flags.ts'
import { toHttpDate, toMillis } from './version-time.ts'

export class StoredVersion {
  readonly rid: number
  readonly type: string
  readonly id: string
  readonly version: number
  /** Microseconds since the epoch; orders all versions. */
  readonly versionTime: number
  readonly deleted: boolean
  /** The HTTP method that made the version, for history. */
  readonly method: Method
  /** The bit of the column `flags` that names the encoding of the bytes; 0 if they are uncompressed. */
  readonly encoding: number
  /** The body as stored; empty for a deletion. */
  readonly bytes: Buffer
  /**
   * Index keys of this version and of the one before it. Search sets them until COMMIT, when it counts the changes that
   * invalidate cached pages: change-counters.ts
   */
  keys: number[] | undefined
  #text: string | undefined
  #httpDate: string | undefined
  #length: number | undefined
  #textHead: readonly string[] | undefined
  #bytesHead: readonly string[] | undefined
  /** `#patients` and `#auditDetails` were made for this URL. */
  #ownUrl: OwnUrl | undefined
  #patients: readonly string[] | undefined
  #auditDetails: FactDetails | undefined
  #presentation: object | undefined
  #presented: string | undefined

  /** `text`: the body as text, if the caller has it; otherwise it is decompressed when it is needed. */
  constructor(type: string, row: VersionRow, text?: string) {
    this.rid = row.rid
    this.type = type
    this.id = row.id
    this.version = row.ver
    this.versionTime = row.upd
    this.deleted = (row.flags & DELETED) !== 0
    this.method = VERSION_METHODS[(row.flags >> METHOD_SHIFT) & METHOD_BITS] ?? 'PUT'
    this.encoding = row.flags & FORM
    this.bytes = row.body ?? EMPTY
    this.#text = text
  }

  /** The body as JSON text, decompressed once. A string, because Node sends a string in one write with the headers. */
  get text(): string {
    this.#text ??= decompressBody(this.bytes, this.encoding).toString('utf8')
    return this.#text
  }

  /** Decompresses a large text off the main thread, so that `text` is there at once. */
  async decompress(): Promise<void> {
    if (this.#text !== undefined || this.deleted) return
    const plain = await unpackLater(this.bytes, this.encoding)
    this.#text = plain.toString('utf8')
    this.#length = plain.length
  }

  /** The text in another form, such as a summary, if `keepPresented` stored it for the same `presentation` object. */
  presented(presentation: object): string | undefined {
    return this.#presentation === presentation ? this.#presented : undefined
  }

  keepPresented(presentation: object, text: string): void {
    this.#presentation = presentation
    this.#presented = text
  }

  /** Length of the text in bytes, as UTF-8. */
  get length(): number {
    this.#length ??= Buffer.byteLength(this.text)
    return this.#length
  }

  /** Headers of an answer that sends the text or the stored bytes. Made once, because frequent reads repeat them. */
  head(
    form: 'text' | 'bytes',
    make: (version: StoredVersion, form: 'text' | 'bytes') => readonly string[],
  ): readonly string[] {
    if (form === 'text') {
      this.#textHead ??= make(this, form)
      return this.#textHead
    }
    this.#bytesHead ??= make(this, form)
    return this.#bytesHead
  }

  /** The patients whose data it is. Computed once for each `ownUrl`. */
  patients(ownUrl: OwnUrl | undefined, of: (version: StoredVersion) => readonly string[]): readonly string[] {
    this.#forgetOthersThan(ownUrl)
    this.#patients ??= of(this)
    return this.#patients
  }

  /**
   * Returns what the audit trail gets of a read of this version. It is made once for each `ownUrl`: events of reads wait in memory
   * until they are written, and the collector would copy one such object for each event.
   */
  auditDetails(
    ownUrl: OwnUrl | undefined,
    make: (version: StoredVersion, ownUrl: OwnUrl | undefined) => FactDetails,
  ): FactDetails {
    this.#forgetOthersThan(ownUrl)
    this.#auditDetails ??= make(this, ownUrl)
    return this.#auditDetails
  }

  #forgetOthersThan(ownUrl: OwnUrl | undefined): void {
    if (this.#ownUrl === ownUrl) return
    this.#ownUrl = ownUrl
    this.#patients = undefined
    this.#auditDetails = undefined
  }

  /** Whether the bytes are gzip, so that they can be sent unchanged to a client that accepts it. */
  get gzip(): boolean {
    return this.encoding === GZIP
  }

  /** Estimated memory in bytes, including the decompressed text. */
  get weight(): number {
    return this.bytes.length * (this.encoding === GZIP ? 4 : this.encoding === 0 ? 2 : 6)
  }

  /** The value of Last-Modified. Made once, because frequent reads repeat it. */
  get httpDate(): string {
    this.#httpDate ??= toHttpDate(this.versionTime)
    return this.#httpDate
  }

  /** Milliseconds since the epoch, as in meta.lastUpdated. */
  get lastUpdated(): number {
    return toMillis(this.versionTime)
  }

  /** The version as hooks get it. `json` is a getter, which decompresses the text when a hook reads it. */
  toFact(): ResourceVersion {
    const { type, id, version, lastUpdated, deleted } = this
    return deleted ? { type, id, version, lastUpdated } : new VersionFact(this)
  }
}

/** A version as plugins get it: its text is decompressed when `json` is read. A class, so that all have one shape and no own getter. */
export class VersionFact implements ResourceVersion {
  readonly #stored: StoredVersion
  readonly type: string
  readonly id: string
  readonly version: number
  readonly lastUpdated: number

  constructor(stored: StoredVersion) {
    this.#stored = stored
    this.type = stored.type
    this.id = stored.id
    this.version = stored.version
    this.lastUpdated = stored.lastUpdated
  }

  get json(): string {
    return this.#stored.text
  }
}

const EMPTY = Buffer.alloc(0)
