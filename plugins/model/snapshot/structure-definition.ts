/** The members of a StructureDefinition that this server reads. https://hl7.org/fhir/R4/structuredefinition.html */

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
  /** How XML has the element where it is no element: `xmlAttr`, `xhtml`. */
  readonly representation?: readonly string[]
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
  /** For an extension: the elements that may have it. */
  readonly context?: readonly { readonly type: string; readonly expression: string }[]
  readonly snapshot?: { readonly element: readonly ElementDefinition[] }
  readonly differential?: { readonly element: readonly ElementDefinition[] }
}

/**
 * Gives definitions to validation. `undefined`: none with this canonical URL is installed. `null`: it is not loaded yet; the
 * caller discards the result of this run and validates again after loading. It must not cache code that was compiled without
 * the definition.
 */
export interface DefinitionSource {
  definition(url: string): StructureDefinition | null | undefined
}

/** Canonical URL of a type named as in `ElementDefinition.type.code`. */
export const typeUrl = (code: string): string =>
  code.startsWith('http:') || code.startsWith('https:') || code.startsWith('urn:')
    ? code
    : `http://hl7.org/fhir/StructureDefinition/${code}`
