/** A scope after parsing. https://hl7.org/fhir/smart-app-launch/STU2.2/scopes-and-launch-context.html */
import type { Rights } from '../../../kernel/index.ts'

export type ScopeLevel = 'patient' | 'user' | 'system'

/** Rights on the resources of a type, or of all types. */
export interface ResourceScope {
  readonly kind: 'resource'
  /** The scope as it was requested. */
  readonly text: string
  readonly level: ScopeLevel
  /** `*` for all. */
  readonly type: string
  readonly rights: Rights
  /** 1 for `.read`, `.write` and `.*`. */
  readonly version: 1 | 2
  /**
   * Search conditions as they were written, such as `category=laboratory`. All must hold; a comma separates values of
   * which one must match.
   */
  readonly conditions: readonly string[]
}

/** A scope that gives no access to data: `openid`, `launch/patient`. */
export interface ContextScope {
  readonly kind: 'context'
  readonly text: string
}

export type Scope = ResourceScope | ContextScope
