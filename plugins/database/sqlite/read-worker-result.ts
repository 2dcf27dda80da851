/** The answer of a reader thread: rows, or an error. */

export interface ReadWorkerResult {
  readonly rows?: unknown[]
  readonly error?: { readonly message: string; readonly code?: string }
}
