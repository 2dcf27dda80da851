/** How small bodies are packed. Stored bodies can only be read by the one that packed them, so none of them ever goes. */
export interface SmallCodec {
  /** The bit of the column `flags` that says so. */
  readonly flag: number
  /** At most `SMALL_BYTES`. The result may be longer than they are. */
  compress(plain: Buffer): Buffer
  /** Throws for bytes that are damaged. */
  decompress(packed: Buffer): Buffer
  /** Bytes of the body; undefined where that is known only by unpacking it. */
  length(packed: Buffer): number | undefined
}

/** Most bytes of a small body. */
export const SMALL_BYTES = 1_400
