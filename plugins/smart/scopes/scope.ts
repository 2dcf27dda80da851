/** What a scope says once it was read. https://hl7.org/fhir/smart-app-launch/STU2.2/scopes-and-launch-context.html */
import type { Rights } from '../../../kernel/index.ts'

export type ScopeLevel = 'patient' | 'user' | 'system'

/** Rights on the resources of a type, or of all types. */
export interface ResourceScope {
  readonly kind: 'resource'
  /** As it was asked for. */
  readonly text: string
  readonly level: ScopeLevel
  /** `*` for all. */
  readonly type: string
  readonly rights: Rights
  /** 1 for `.read`, `.write` and `.*`. */
  readonly version: 1 | 2
  /** `category=laboratory`, as they were written: all must hold; a comma in one means any of the values. */
  readonly conditions: readonly string[]
}

/** One that gives no access to data: `openid`, `launch/patient`. */
export interface ContextScope {
  readonly kind: 'context'
  readonly text: string
}

export type Scope = ResourceScope | ContextScope
