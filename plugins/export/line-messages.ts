/** Messages between the main thread and the thread that writes files. One file is open at a time. */

export interface AddLines {
  /** Bodies as they are stored, one behind the other. */
  readonly bodies: Uint8Array
  /** Bytes of each. */
  readonly lengths: readonly number[]
  /** How each is compressed. */
  readonly encodings: readonly number[]
  /** A file with so many lines or bytes takes no more. */
  readonly mostLines: number
  readonly mostBytes: number
}

export interface Added {
  /** How many of the bodies went into the file. */
  readonly taken: number
  /** Of the whole file. */
  readonly lines: number
  readonly bytes: number
}

export interface WrittenFile {
  readonly file: string
  readonly lines: number
  readonly bytes: number
  readonly sha256: string
}

export type ToLineThread =
  | { readonly kind: 'open'; readonly folder: string; readonly name: string }
  | ({ readonly kind: 'add' } & AddLines)
  | { readonly kind: 'finish' }
  | { readonly kind: 'discard' }

/** The error is plain data, because structured cloning of an Error loses a code such as `ENOSPC`. */
export type FromLineThread =
  | { readonly result: Added | WrittenFile | undefined }
  | { readonly error: { readonly message: string; readonly code: string | undefined } }
