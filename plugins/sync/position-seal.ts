/**
 * The `at` of messages: a position among the changes, bound to the query, the ruling and the caller. It is encrypted
 * because a position shows how much is written that the caller may not see. It has two parts: the position, which is sealed
 * once for all queries that are sent a change, and the query with the position at which it began, sealed once for each query.
 */
import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto'
import { isBehind, type Place } from './place.ts'

const CIPHER = 'aes-256-gcm' // NIST SP 800-38D
const NONCE_BYTES = 12
const TAG_BYTES = 16
// Epoch and number of the commit as doubles, the place within it as an integer, eight bytes of the term, a flag.
const PLAIN_BYTES = 8 + 8 + 4 + 8 + 1
const PART_BYTES = NONCE_BYTES + TAG_BYTES + PLAIN_BYTES
const PART_CHARACTERS = Math.ceil((PART_BYTES * 8) / 6)

export interface Position {
  readonly place: Place
  /** True where the client may have some of the changes behind the place, too. */
  readonly isLoose: boolean
}

export interface QuerySeal {
  /** Positions are sealed in their order. */
  seal(position: Position): string
  /** Undefined for what was not sealed for this query, caller and ruling. */
  open(at: string): Position | undefined
}

export interface PositionSeal {
  /** `scope`: a text for the query, the ruling and the caller. */
  of(scope: string): QuerySeal
}

const encode = ({ place: { epoch, seq, within, term }, isLoose }: Position): Buffer => {
  const plain = Buffer.alloc(PLAIN_BYTES)
  plain.writeDoubleBE(epoch, 0)
  plain.writeDoubleBE(seq, 8)
  plain.writeUInt32BE(within, 16)
  plain.write(term, 20, 'hex')
  plain.writeUInt8(isLoose ? 1 : 0, 28)
  return plain
}
const decode = (plain: Buffer): Position => ({
  place: {
    epoch: plain.readDoubleBE(0),
    seq: plain.readDoubleBE(8),
    within: plain.readUInt32BE(16),
    term: plain.toString('hex', 20, 28),
  },
  isLoose: plain.readUInt8(28) === 1,
})

const POSITION = Buffer.from('position')

const sealPart = (key: KeyObject, about: Buffer, position: Position): string => {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(about)
  const sealed = cipher.update(encode(position))
  cipher.final()
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}
const openPart = (key: KeyObject, about: Buffer, text: string): Position | undefined => {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length !== PART_BYTES || bytes.toString('base64url') !== text) return undefined
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(about)
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  const plain = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
  try {
    decipher.final()
  } catch {
    return undefined
  }
  return decode(plain)
}

/** A position of before the query began was sent to another query, perhaps under another ruling. */
const isOfBefore = ({ place }: Position, { place: began }: Position): boolean =>
  place.epoch < began.epoch || (place.epoch === began.epoch && place.term === began.term && isBehind(began, place))

interface SealParts {
  readonly key: () => KeyObject
  readonly sealOnce: (position: Position) => string
}

/** A class, because there are thousands of them and closures would each retain their scope. */
class SealOfQuery implements QuerySeal {
  readonly #parts: SealParts
  readonly #scope: string
  #own: string | undefined

  constructor(parts: SealParts, scope: string) {
    this.#parts = parts
    this.#scope = scope
  }

  get #about(): Buffer {
    return Buffer.from(this.#scope)
  }

  seal(position: Position): string {
    const { key, sealOnce } = this.#parts
    this.#own ??= sealPart(key(), this.#about, position)
    return `${sealOnce(position)}${this.#own}`
  }

  open(at: string): Position | undefined {
    if (at.length !== PART_CHARACTERS * 2) return undefined
    const key = this.#parts.key()
    const position = openPart(key, POSITION, at.slice(0, PART_CHARACTERS))
    const began = position && openPart(key, this.#about, at.slice(PART_CHARACTERS))
    return began === undefined || isOfBefore(position!, began) ? undefined : position
  }
}

/** `key`: 32 bytes, known once the database is open. */
export const createPositionSeal = (key: () => KeyObject): PositionSeal => {
  let last: { readonly place: Place; readonly isLoose: boolean; readonly text: string } | undefined
  /** The same text in one turn; two texts of a place would otherwise show that nothing was written in between. */
  const sealOnce = (position: Position): string => {
    const { place, isLoose } = position
    if (last?.place === place && last.isLoose === isLoose) return last.text
    if (last === undefined)
      setImmediate(() => {
        last = undefined
      })
    const text = sealPart(key(), POSITION, position)
    last = { place, isLoose, text }
    return text
  }
  const parts: SealParts = { key, sealOnce }
  return { of: (scope) => new SealOfQuery(parts, scope) }
}
