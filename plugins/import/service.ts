/** The service `Importing`: stores the resources of files. */
import { defineService } from '../../kernel/index.ts'

export interface ImportOptions {
  /** Files and directories. */
  readonly paths: readonly string[]
  /** Checks everything that storing checks, and stores nothing. */
  readonly isDryRun: boolean
  /** Imports files again that were imported before. */
  readonly isAgain: boolean
  /** Transactions at once. */
  readonly parallel: number
}

/** A record that was refused. `status` is that of the answer that a client would have got. */
export interface RefusedRecord {
  readonly file: string
  readonly line: number | undefined
  readonly error: unknown
  /** The import of the file was begun by an earlier run, which may have reported the record, too. */
  readonly isResumed: boolean
}

export interface ImportListener {
  /** A file that was begun before: this many of its resources are stored already. */
  resumed?(name: string, resources: number): void
  /**
   * A file that was imported before and is left out: when that was, in milliseconds since the epoch, and how many of its
   * records were refused then.
   */
  skipped?(name: string, before: { readonly finished: number; readonly failed: number }): void
  /** Bytes of all files that were read, of all bytes, and resources that were stored. */
  progress?(step: {
    readonly done: number
    readonly total: number
    readonly resources: number
    readonly name: string
  }): void
  /** Records that refer to what is not there yet are tried again after the others. */
  again?(records: number): void
  refused?(record: RefusedRecord): void
}

export interface ImportSummary {
  /** Stored by this import, those of earlier, interrupted ones included. */
  readonly resources: number
  /** Records that were refused, by this import or by an earlier one of the same files. */
  readonly failed: number
  /** Files that were left out, because they were imported before. */
  readonly skipped: number
}

export interface Importing {
  /**
   * Stores the resources of files, each batch in one transaction together with the note that it is done: an import that
   * was interrupted goes on where it was, and stores nothing twice. Throws what the files are refused for, and 5xx.
   */
  run(options: ImportOptions, listener: ImportListener): Promise<ImportSummary>
}

export const Importing = defineService<Importing>('import')
