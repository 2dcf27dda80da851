/**
 * What a thread has found about a large resource before its transaction, as far as the storage needs it. Others find more,
 * and extend this.
 */
import type { ReadReference } from '../model/service.ts'
import type { PackedPart } from './body/compressed-parts.ts'

export interface Findings {
  /** The parts of its template, packed; undefined where it is packed as a whole. */
  readonly parts: readonly PackedPart[] | undefined
  /** Whose data it was and is. */
  readonly patients: readonly string[]
  /** The version that is replaced; undefined for what is not there yet, or was deleted. */
  readonly before:
    | {
        readonly version: number
        /** The next version has the same content. */
        readonly isSame: boolean
        /** Undefined where nobody asked. */
        readonly references: readonly ReadReference[] | undefined
      }
    | undefined
}

type Json = Record<string, unknown>

const FINDINGS = Symbol('findings')

interface Carrier {
  [FINDINGS]?: Findings
}

/** From now on the resource carries them. */
export const carryFindings = (resource: Json, findings: Findings): void => {
  Object.defineProperty(resource, FINDINGS, { value: findings })
}

/** Undefined for a resource that was read on the main thread. */
export const findingsOf = (resource: Readonly<Json> | undefined): Findings | undefined =>
  (resource as Carrier | undefined)?.[FINDINGS]
