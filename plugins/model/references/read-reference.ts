/** A Reference with where it points, as it is read from the resource alone. */

/** A resource of this server, or one version of it. */
export interface Target {
  readonly type: string
  readonly id: string
  /** As written behind `/_history/`. */
  readonly version?: string | undefined
}

/** Where a Reference points. */
export type OutgoingReference =
  /** An identifier or a display alone. */
  | { readonly to: 'nothing' }
  /** A contained resource, or another entry of the same Bundle; without a type it is not there. */
  | { readonly to: 'inside'; readonly type: string | undefined }
  | { readonly to: 'here'; readonly type: string; readonly target: Target }
  /** Another server, a URN, or what is no address. The type where the URL shows one. */
  | { readonly to: 'elsewhere'; readonly type: string | undefined }

export interface ReadReference {
  /** Reference.reference; empty when there is none. */
  readonly text: string
  /** Types the element allows; none means all. */
  readonly allowed: readonly string[]
  /** Reference.type as the name of a resource type, where it is one. */
  readonly stated: string | undefined
  readonly pointing: OutgoingReference
}
