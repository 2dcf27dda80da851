import type { StructureFaults } from './structure-issues.ts'

/** A generated check. Returns the faults of an object, or null if it is valid. */
export type GeneratedCheck = (value: any) => StructureFaults
