/** One version of a resource as it is read: with its bytes as they lie in the database. */
import type { OwnUrl, ResourceVersion } from '../../kernel/index.ts'
import { decompressBody, unpackLater } from './body/body.ts'
import {
  DELETED,
  FORM,
  GZIP,
  METHOD_BITS,
  METHOD_SHIFT,
  type Method,
  VERSION_METHODS,
  type VersionRow,
} from './tables.ts'
import { toHttpDate, toMillis } from './version-time.ts'

export class StoredVersion {
  readonly rid: number
  readonly type: string
  readonly id: string
  readonly version: number
  /** Microseconds: place in the order of all versions. */
  readonly versionTime: number
  readonly deleted: boolean
  /** The interaction that made it. */
  readonly method: Method
  /** Bits of the column `flags` that say how the bytes are packed. */
  readonly encoding: number
  /** As stored; empty for a deletion. */
  readonly bytes: Buffer
  /** Of the index, under which it is written and its previous version was, until its transaction is committed: changes.ts */
  keys: number[] | undefined
  #text: string | undefined
  #httpDate: string | undefined
  #length: number | undefined
  #textHead: readonly string[] | undefined
  #bytesHead: readonly string[] | undefined
  #patients: readonly string[] | undefined
  #patientsFor: OwnUrl | undefined
  #presentation: object | undefined
  #presented: string | undefined

  /** `text`: the body of a version made here, which is not unpacked to be sent. */
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

  /** The response body: JSON. Unpacked once. A string, because Node sends one together with the head. */
  get text(): string {
    this.#text ??= decompressBody(this.bytes, this.encoding).toString('utf8')
    return this.#text
  }

  /** Unpacks the text away from the main thread, for a large one. */
  async decompress(): Promise<void> {
    if (this.#text !== undefined || this.deleted) return
    const plain = await unpackLater(this.bytes, this.encoding)
    this.#text = plain.toString('utf8')
    this.#length = plain.length
  }

  /** The text in another form, for who asked with this object. */
  presented(presentation: object): string | undefined {
    return this.#presentation === presentation ? this.#presented : undefined
  }

  keepPresented(presentation: object, text: string): void {
    this.#presentation = presentation
    this.#presented = text
  }

  /** Bytes of the text. */
  get length(): number {
    this.#length ??= Buffer.byteLength(this.text)
    return this.#length
  }

  /** Headers of an answer with its text, or with its bytes: made once, because a hot read sends them again and again. */
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

  /** Whose data it is: worked out once, by what this server's own URL is. */
  patients(ownUrl: OwnUrl | undefined, of: (version: StoredVersion) => readonly string[]): readonly string[] {
    if (this.#patients === undefined || this.#patientsFor !== ownUrl) {
      this.#patients = of(this)
      this.#patientsFor = ownUrl
    }
    return this.#patients
  }

  /** Are the bytes gzip, which a client may take as they are? */
  get gzip(): boolean {
    return this.encoding === GZIP
  }

  /** About how many bytes it holds in memory, with its text. */
  get weight(): number {
    return this.bytes.length * (this.encoding === GZIP ? 4 : this.encoding === 0 ? 2 : 6)
  }

  /** Last-Modified. Made once: a hot read asks for it as often as for the text. */
  get httpDate(): string {
    this.#httpDate ??= toHttpDate(this.versionTime)
    return this.#httpDate
  }

  /** Milliseconds since the epoch, as in meta.lastUpdated. */
  get lastUpdated(): number {
    return toMillis(this.versionTime)
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
        return stored.text
      },
    }
  }
}

const EMPTY = Buffer.alloc(0)
