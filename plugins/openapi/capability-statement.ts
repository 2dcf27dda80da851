/** The part of the capability statement that the document is made from. https://hl7.org/fhir/R4/capabilitystatement.html */

export interface CapabilityResource {
  readonly type: string
  readonly interaction: readonly { readonly code: string }[]
  readonly conditionalCreate?: boolean
  readonly conditionalUpdate?: boolean
  readonly conditionalDelete?: string
  readonly searchParam?: readonly { readonly name: string; readonly type: string }[]
}

export interface CapabilityStatement {
  readonly fhirVersion: string
  readonly software: { readonly version: string }
  readonly format: readonly string[]
  readonly patchFormat: readonly string[]
  readonly rest: readonly {
    readonly security?: {
      readonly extension?: readonly {
        readonly extension?: readonly { readonly url: string; readonly valueUri?: string }[]
      }[]
    }
    readonly resource?: readonly CapabilityResource[]
  }[]
}
