/** Puts the terminology index together: what reads it, what fills it. */
import type { Clock, Logger, MemoryBudget } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { Resources } from '../../fhir/service.ts'
import type { Definitions } from '../../packages/service.ts'
import type { TerminologyIndex } from '../service.ts'
import { createIndexReader, type IndexReader } from './index-reader.ts'
import { createIndexer, type Indexer } from './indexer.ts'
import { createLoadConcepts } from './load-concepts.ts'
import { createRowsWriter, type RowsWriter } from './rows-writer.ts'

export interface IndexParts {
  readonly database: Database
  readonly resources: () => Resources
  readonly definitions: Definitions
  readonly clock: Clock
  readonly memory: MemoryBudget
  readonly log: Logger
  /** Called when the index has another code system. */
  readonly changed: () => void
}

export interface OpenIndex extends TerminologyIndex {
  readonly reader: IndexReader
  readonly indexer: Indexer
  /** A code system of this name is not used any more. */
  readonly end: RowsWriter['end']
}

export const openIndex = ({ database, definitions, clock, memory, ...parts }: IndexParts): OpenIndex => {
  const writer = createRowsWriter(database, clock)
  const alone = createRowsWriter(database, clock, true)
  const indexer = createIndexer({ ...parts, database, definitions, clock, writer })
  return {
    indexer,
    end: writer.end,
    reader: createIndexReader({ database, memory, fingerprint: () => definitions.fingerprint, want: indexer.want }),
    load: createLoadConcepts(database, (isAlone) => (isAlone ? alone : writer), parts.changed),
    idle: indexer.idle,
  }
}
