/** What plugins add in their setup, until the server starts with it. */
import type { CapabilityPart } from './capability.ts'
import type { OwnInvocation } from './operations/own.ts'
import { createOperations, type Operations } from './operations/registry.ts'
import { createOwnedTypes, type OwnedTypes } from './owned.ts'
import type { Fhir, WriteCheck } from './service.ts'

export interface Additions {
  /** The service through which they do. */
  readonly service: Fhir
  readonly parts: readonly CapabilityPart[]
  readonly checks: readonly WriteCheck[]
  readonly owned: OwnedTypes
  readonly operations: Operations<OwnInvocation>
}

export const createAdditions = (): Additions => {
  const parts: CapabilityPart[] = []
  const checks: WriteCheck[] = []
  const owned = createOwnedTypes()
  const operations = createOperations<OwnInvocation>()
  return {
    service: {
      describe: (part) => void parts.push(part),
      check: (check) => void checks.push(check),
      operation: operations.add,
      owns: owned.add,
    },
    parts,
    checks,
    owned,
    operations,
  }
}
