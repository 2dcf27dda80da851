/** What a reader thread sends back: rows, or why there are none. */

export interface ReadWorkerResult {
  readonly rows?: unknown[]
  readonly error?: { readonly message: string; readonly code?: string }
}
