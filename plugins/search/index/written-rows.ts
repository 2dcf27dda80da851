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

interface Kept {
  readonly source: ExtractionSource
  readonly rows: IndexEntries
}

class Given {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: the subclass adds its private member to what is returned here
    return object
  }
}

/**
 * A private member of the resource itself. A WeakMap takes a microsecond more for each resource: V8 keeps all of its values alive
 * through the next collection of the young generation, and copies them.
 */
class WithRows extends Given {
  #kept: Kept

  private constructor(resource: object, kept: Kept) {
    super(resource)
    this.#kept = kept
  }

  static keep(resource: object, kept: Kept): void {
    // A transaction that runs again writes the same resource.
    if (#kept in resource) resource.#kept = kept
    else new WithRows(resource, kept)
  }

  static of(resource: object): Kept | undefined {
    return #kept in resource ? resource.#kept : undefined
  }
}

export const createWrittenRows = (): WrittenRows => {
  const wanted = new Set<(type: string) => boolean>()
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
          WithRows.keep(resource, { source, rows })
          return
        }
    },
    of(resource, source) {
      const found = WithRows.of(resource)
      return found?.source === source ? found.rows : undefined
    },
  }
}
