/** What the filling and the clearing of columns need. */
import type { Clock } from '../../../../kernel/index.ts'
import type { Database } from '../../../database/service.ts'
import type { TypeCodes } from '../../../storage/service.ts'
import type { IndexWriter } from '../index-writer.ts'
import type { LayoutGate } from '../layout.ts'
import type { Registry } from '../registry.ts'

export interface BackfillParts {
  readonly database: Database
  readonly registry: Registry
  readonly rows: IndexWriter
  readonly types: TypeCodes
  readonly clock: Clock
  readonly gate: LayoutGate
}
