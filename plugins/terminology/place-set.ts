/**
 * A set of concepts of one code system, by their places in it (from 0): one bit for each concept, 12.5 kB for 100,000. The
 * parts of a value set are combined on such sets, so that no concept is loaded for it.
 */
const BITS = 32

/** Number of bits that are set. https://en.wikipedia.org/wiki/Hamming_weight */
const countBits = (word: number): number => {
  let bits = word - ((word >>> 1) & 0x55555555)
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

export class PlaceSet {
  readonly #words: Uint32Array

  private constructor(words: Uint32Array) {
    this.#words = words
  }

  /** `size`: number of concepts of the code system. */
  static none(size: number): PlaceSet {
    return new PlaceSet(new Uint32Array(Math.ceil(size / BITS)))
  }

  static all(size: number): PlaceSet {
    const set = PlaceSet.none(size)
    set.#words.fill(0xffffffff)
    if (size % BITS !== 0) set.#words[set.#words.length - 1] = 2 ** (size % BITS) - 1
    return set
  }

  static of(size: number, places: Iterable<number>): PlaceSet {
    const set = PlaceSet.none(size)
    for (const place of places) set.add(place)
    return set
  }

  /** Bytes in memory. */
  get weight(): number {
    return this.#words.byteLength
  }

  get count(): number {
    let count = 0
    for (const word of this.#words) count += countBits(word)
    return count
  }

  copy(): PlaceSet {
    return new PlaceSet(this.#words.slice())
  }

  has(place: number): boolean {
    return (((this.#words[place >>> 5] ?? 0) >>> (place & 31)) & 1) === 1
  }

  add(place: number): void {
    const at = place >>> 5
    this.#words[at] = (this.#words[at] ?? 0) | (1 << (place & 31))
  }

  delete(place: number): void {
    const at = place >>> 5
    this.#words[at] = (this.#words[at] ?? 0) & ~(1 << (place & 31))
  }

  keep(other: PlaceSet): this {
    for (let at = 0; at < this.#words.length; at += 1)
      this.#words[at] = (this.#words[at] as number) & (other.#words[at] as number)
    return this
  }

  remove(other: PlaceSet): this {
    for (let at = 0; at < this.#words.length; at += 1)
      this.#words[at] = (this.#words[at] as number) & ~(other.#words[at] as number)
    return this
  }

  addAll(other: PlaceSet): this {
    for (let at = 0; at < this.#words.length; at += 1)
      this.#words[at] = (this.#words[at] as number) | (other.#words[at] as number)
    return this
  }

  /** At most `count` places in ascending order, behind the first `offset` ones. */
  slice(offset: number, count: number): number[] {
    const found: number[] = []
    let skip = offset
    for (let at = 0; at < this.#words.length && found.length < count; at += 1) {
      let word = this.#words[at] as number
      const bits = countBits(word)
      if (bits <= skip) {
        skip -= bits
        continue
      }
      while (word !== 0 && found.length < count) {
        const bit = 31 - Math.clz32(word & -word)
        word &= word - 1
        if (skip > 0) skip -= 1
        else found.push(at * BITS + bit)
      }
    }
    return found
  }
}
