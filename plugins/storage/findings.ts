/**
 * Findings: what a worker thread has extracted from a large resource before its transaction. These are the members that
 * storage reads; search extends the interface with its own.
 */
import type { ReadReference } from '../model/service.ts'
import type { PackedPart } from './body/compressed-parts.ts'

export interface Findings {
  /** The fixed parts of the template, compressed; undefined if the body is to be compressed as a whole. */
  readonly parts: readonly PackedPart[] | undefined
  /** The patients whose data the resource was and is, as `Patient/p1`. */
  readonly patients: readonly string[]
  /** The version that is replaced; undefined if the resource does not exist or is deleted. */
  readonly before:
    | {
        readonly version: number
        /** True if the next version has the same content. */
        readonly isSame: boolean
        /** References of this version; undefined if they were not requested. */
        readonly references: readonly ReadReference[] | undefined
      }
    | undefined
}

type Json = Record<string, unknown>

const FINDINGS = Symbol('findings')

interface Carrier {
  [FINDINGS]?: Findings
}

/** Attaches the findings to the parsed resource, from which `findingsOf` reads them. */
export const carryFindings = (resource: Json, findings: Findings): void => {
  Object.defineProperty(resource, FINDINGS, { value: findings })
}

/** Undefined if the resource was parsed on the main thread. */
export const findingsOf = (resource: Readonly<Json> | undefined): Findings | undefined =>
  (resource as Carrier | undefined)?.[FINDINGS]
