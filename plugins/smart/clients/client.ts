/** A client as this server stores it. RFC 7591, section 2 */

export type AuthMethod = 'none' | 'client_secret_basic' | 'private_key_jwt'
export type AssertionAlg = 'RS384' | 'ES384'

/** A public key of a client, as it was registered or fetched. RFC 7517, section 4 */
export type ClientJwk = Readonly<Record<string, unknown>>

export interface ClientMetadata {
  readonly client_name?: string
  readonly application_type?: 'web' | 'native'
  readonly redirect_uris?: readonly string[]
  readonly grant_types: readonly string[]
  readonly response_types: readonly string[]
  readonly token_endpoint_auth_method: AuthMethod
  readonly token_endpoint_auth_signing_alg?: AssertionAlg
  readonly scope?: string
  readonly jwks?: { readonly keys: readonly ClientJwk[] }
  readonly jwks_uri?: string
  readonly client_uri?: string
  readonly logo_uri?: string
  readonly tos_uri?: string
  readonly policy_uri?: string
  readonly contacts?: readonly string[]
  readonly software_id?: string
  readonly software_version?: string
}

export interface Client {
  readonly id: string
  readonly metadata: ClientMetadata
  /** SHA-256 of its secret; undefined for a client without one. */
  readonly secretHash: Uint8Array | undefined
  readonly createdAt: number
  readonly disabledAt: number | undefined
}

/** Id of the built-in client, whose secret is a setting. Spec: Authentication 5. */
export const BUILT_IN = 'confidential'

export const builtInClient = (secretHash: Uint8Array): Client => ({
  id: BUILT_IN,
  metadata: {
    client_name: 'Built-in client',
    grant_types: [],
    response_types: [],
    token_endpoint_auth_method: 'client_secret_basic',
  },
  secretHash,
  createdAt: 0,
  disabledAt: undefined,
})
