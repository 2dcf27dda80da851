/** What an expansion is made of. */
import type { Canonical } from './canonical.ts'
import type { Expansion } from './code-set.ts'
import type { CodeSystem } from './code-system.ts'
import type { ConceptSource } from './concept-source.ts'
import type { ValueSetFilter } from './filter.ts'
import type { SystemVersions } from './system-versions.ts'

export type Json = Readonly<Record<string, unknown>>

export interface FindDefinition {
  /** The url and version that a name stands for. */
  readName(type: 'CodeSystem' | 'ValueSet', text: string): Promise<Canonical>
  valueSet(canonical: string): Promise<Json | undefined>
  /** The whole code system in memory: for small ones, such as supplements. Undefined for one that was loaded from elsewhere. */
  codeSystem(canonical: string): Promise<CodeSystem | undefined>
  /** The same for questions, which may be answered by the index. */
  source(canonical: string): Promise<ConceptSource | undefined>
}

/** A part of the definition of a value set. */
export interface Include {
  readonly system?: string
  readonly version?: string
  readonly concept?: readonly Json[]
  readonly filter?: readonly ValueSetFilter[]
  readonly valueSet?: readonly string[]
}

/** What a request asks of an expansion. */
export interface ExpansionOptions {
  readonly versions?: SystemVersions
  /** Only with definitions that have not changed since this time, in microseconds since the epoch. */
  readonly asOf?: number
}

/** A value set with its codes. */
export interface Expanded {
  readonly resource: Json
  readonly expansion: Expansion
}

/** Thrown when a value set cannot be expanded; the message is a phrase that says why. */
export class NotExpandableHere extends Error {}
