/** The part of a StructureDefinition that is read. https://hl7.org/fhir/R4/structuredefinition.html */

export interface TypeReference {
  readonly code: string
  readonly profile?: readonly string[]
  readonly targetProfile?: readonly string[]
  readonly extension?: readonly { readonly url: string; readonly [value: string]: unknown }[]
}

export interface Constraint {
  readonly key: string
  readonly severity: 'error' | 'warning'
  readonly human: string
  readonly expression?: string
  readonly source?: string
}

export interface Discriminator {
  readonly type: 'value' | 'exists' | 'pattern' | 'type' | 'profile'
  readonly path: string
}

export interface Slicing {
  readonly discriminator?: readonly Discriminator[]
  readonly ordered?: boolean
  readonly rules: 'closed' | 'open' | 'openAtEnd'
}

export interface ElementDefinition {
  readonly id?: string
  readonly path: string
  readonly sliceName?: string
  readonly slicing?: Slicing
  readonly min?: number
  readonly max?: string
  readonly isModifier?: boolean
  readonly isSummary?: boolean
  readonly base?: { readonly path: string; readonly min: number; readonly max: string }
  readonly contentReference?: string
  readonly type?: readonly TypeReference[]
  readonly constraint?: readonly Constraint[]
  readonly binding?: { readonly strength: string; readonly valueSet?: string }
  /** fixed[x], pattern[x], minValue[x], maxValue[x] */
  readonly [choice: string]: unknown
}

export interface StructureDefinition {
  readonly resourceType: 'StructureDefinition'
  readonly url: string
  readonly name: string
  readonly type: string
  readonly version?: string
  readonly fhirVersion?: string
  readonly extension?: readonly { readonly url: string; readonly valueCode?: string }[]
  readonly kind: 'primitive-type' | 'complex-type' | 'resource' | 'logical'
  readonly abstract: boolean
  readonly derivation?: 'specialization' | 'constraint'
  readonly baseDefinition?: string
  /** Of an extension: where it may stand. */
  readonly context?: readonly { readonly type: string; readonly expression: string }[]
  readonly snapshot?: { readonly element: readonly ElementDefinition[] }
  readonly differential?: { readonly element: readonly ElementDefinition[] }
}

/**
 * Where definitions come from. `undefined`: there is none with this canonical URL. `null`: it is not known yet; the
 * answer of the validation under way does not count, and nothing is compiled from the gap.
 */
export interface DefinitionSource {
  definition(url: string): StructureDefinition | null | undefined
}

/** Canonical URL of a type named as in `ElementDefinition.type.code`. */
export const typeUrl = (code: string): string =>
  code.startsWith('http:') || code.startsWith('https:') || code.startsWith('urn:')
    ? code
    : `http://hl7.org/fhir/StructureDefinition/${code}`
