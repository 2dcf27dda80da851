/** Output in batches where standard output is not a terminal; a terminal is written to at once. */
import { createBatch } from '../kernel/batch.ts'
import type { Output } from '../kernel/command.ts'

export interface BatchedOutput extends Output {
  /** Writes the buffered text; call it at exit. */
  flush(): void
}

export const batchedOutput = (output: Output): BatchedOutput => {
  const { add, flush } = createBatch((text) => void output.write(text))
  return {
    isTTY: output.isTTY,
    flush,
    write: output.isTTY === true ? (text) => output.write(text) : add,
  }
}
