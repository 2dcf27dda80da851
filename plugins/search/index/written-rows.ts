/**
 * Index rows of versions that were just written, for who tests the same versions after COMMIT. They are kept with the parsed
 * resource and go with it, and only while somebody wants those of its type.
 */
import type { ExtractionSource } from './extraction-source.ts'
import type { IndexEntries } from './index-entries.ts'

export interface WrittenRows {
  /** Keeps rows of these types from now on. Call the returned function when they are not needed any more. */
  want(wants: (type: string) => boolean): () => void
  note(type: string, resource: object, source: ExtractionSource, rows: IndexEntries): void
  /** Undefined where they were not kept, or are those of another source. */
  of(resource: object, source: ExtractionSource): IndexEntries | undefined
}

export const createWrittenRows = (): WrittenRows => {
  const wanted = new Set<(type: string) => boolean>()
  const kept = new WeakMap<object, { readonly source: ExtractionSource; readonly rows: IndexEntries }>()
  return {
    want(wants) {
      wanted.add(wants)
      return () => void wanted.delete(wants)
    },
    note(type, resource, source, rows) {
      // The whole cost while nobody wants any.
      if (wanted.size === 0) return
      for (const wants of wanted)
        if (wants(type)) {
          kept.set(resource, { source, rows })
          return
        }
    },
    of(resource, source) {
      const found = kept.get(resource)
      return found?.source === source ? found.rows : undefined
    },
  }
}
