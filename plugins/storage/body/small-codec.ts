/** A codec of small bodies. A codec is never removed, because bodies in the database can be read only with the one that wrote them. */
export interface SmallCodec {
  /** The bit of the column `flags` that marks bodies of this codec. */
  readonly flag: number
  /** `plain` has at most SMALL_BYTES. The result may be longer than `plain`. */
  compress(plain: Buffer): Buffer
  /** Throws if the bytes are damaged. */
  decompress(packed: Buffer): Buffer
  /** Length of the decompressed body in bytes; undefined if only decompressing would show it. */
  length(packed: Buffer): number | undefined
}

/** Maximum size of a small body in bytes, before compression. */
export const SMALL_BYTES = 1_400
