/** What a grant type of the token endpoint does, once the client is authenticated. */
import type { Clock, Host, RequestContext } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { Resources } from '../../fhir/service.ts'
import type { BearerCallers } from '../bearer/bearer-callers.ts'
import type { Client } from '../clients/client.ts'
import type { Form } from '../endpoints/form.ts'
import type { OAuthAnswer } from '../endpoints/mount-oauth.ts'
import type { IdTokenSigner } from '../keys/published-keys.ts'
import type { InstalledScopes } from '../scopes/installed-scopes.ts'

export interface GrantParts extends Pick<Host, 'run'> {
  readonly database: Database
  readonly clock: Clock
  readonly resources: Resources
  readonly signer: IdTokenSigner
  readonly bearer: Pick<BearerCallers, 'recheck'>
  /** Drops scopes whose type or search parameters are not installed. */
  readonly installedScopes: InstalledScopes
}

/** `authenticate` gives the client, once it has proved itself and may use this grant type. Throws an OAuth error. */
export type GrantHandler = (
  ctx: RequestContext,
  authenticate: () => Promise<Client>,
  form: Form,
) => Promise<OAuthAnswer>
