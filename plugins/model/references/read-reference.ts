/** A Reference and its target, as far as the text of the resource shows it: no other resource is read. */

/** A resource of this server, or one version of it. */
export interface Target {
  readonly type: string
  readonly id: string
  /** The version after `/_history/`, as written. */
  readonly version?: string | undefined
}

/** The target of a Reference. */
export type OutgoingReference =
  /** The Reference has no `reference`, only an identifier or a display. */
  | { readonly to: 'nothing' }
  /** A contained resource, or another entry of the same Bundle. The type is undefined if no such resource is there. */
  | { readonly to: 'inside'; readonly type: string | undefined }
  /** A resource of this server, which may or may not exist. */
  | { readonly to: 'here'; readonly type: string; readonly target: Target }
  /** Another server, a URN, or text that is not a URL. The type is set if the URL contains one. */
  | { readonly to: 'elsewhere'; readonly type: string | undefined }

export interface ReadReference {
  /** Reference.reference; empty if it is absent. */
  readonly text: string
  /** Target types that the element allows; an empty list allows all. */
  readonly allowed: readonly string[]
  /** Reference.type as the name of a resource type; undefined if it is absent or not a known type. */
  readonly stated: string | undefined
  readonly pointing: OutgoingReference
}
