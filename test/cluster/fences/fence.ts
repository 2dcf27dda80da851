/** A check of the source that keeps servers apart, how it is taken out, and the test that fails without it. */
export interface Fence {
  readonly name: string
  /** From the root, with slashes. */
  readonly file: string
  /** Text that the file has once. */
  readonly check: string
  /** Takes its place. */
  readonly planted: string
  /** The test file that fails without it. One with `sqlite` in its name runs on SQLite. */
  readonly test: string
}
