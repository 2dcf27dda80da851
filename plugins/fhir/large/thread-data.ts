/** The data that a thread is started with, and the messages between it and the main thread. All of it is plain data. */

import type { ReferencePaths } from '../../model/service.ts'
import type { Definition } from '../../packages/service.ts'
import type { ExtractionSource, FullTextMode } from '../../search/service.ts'
import type { RemoteValidator } from '../../validation/service.ts'
import type { Head, Part } from './outcome.ts'
import type { Task } from './task.ts'

export interface ThreadData {
  readonly referencePaths: ReferencePaths
  readonly types: readonly string[]
  readonly packages: readonly { readonly name: string; readonly version: string }[]
  /** Fingerprint of the installed packages. */
  readonly fingerprint: string
  readonly fullTextMode: FullTextMode
  readonly extraction: ExtractionSource
  /** Undefined when no plugin validates. */
  readonly validator: RemoteValidator | undefined
}

export type ToThread =
  | { readonly kind: 'task'; readonly task: Task }
  /** Requests the next part. The thread answers with it, or with the end. */
  | { readonly kind: 'next' }
  | { readonly kind: 'definition'; readonly number: number; readonly definition: Definition | undefined }
  | { readonly kind: 'definition'; readonly number: number; readonly error: string }

export type FromThread =
  | { readonly kind: 'head'; readonly head: Head }
  | { readonly kind: 'part'; readonly part: Part }
  | { readonly kind: 'end' }
  /** An unexpected error, which is a bug in the server. */
  | { readonly kind: 'failed'; readonly message: string; readonly stack: string | undefined }
  | {
      readonly kind: 'find'
      readonly number: number
      readonly type: string
      readonly url: string
      readonly version: string | undefined
    }
