/**
 * The URL under which absolute references point at this server itself. It never comes from a request: what a client
 * sends as its Host header must not decide what a reference means, what a caller may see, or what may be deleted.
 */
declare const ownUrl: unique symbol

/**
 * `https://fhir.example.org/r4`, without a slash at the end. A type of its own, so that no other URL is taken for it.
 */
export type OwnUrl = string & { readonly [ownUrl]: true }

export const toOwnUrl = (url: string): OwnUrl => url as OwnUrl
