/**
 * Names the client of a refresh request that names none. SMART App Launch lists no `client_id` among the parameters of
 * a refresh, and apps leave it out: a refresh token belongs to one client, so for a public one it says who calls.
 */
import type { RequestContext } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { Form } from '../endpoints/form.ts'
import { findRefresh, type RefreshRow } from '../login-tables.ts'
import { hashOf } from '../secret.ts'

const NAMING = ['client_id', 'client_secret', 'client_assertion', 'client_assertion_type']

/**
 * The form, with the `client_id` that the refresh token belongs to where the request has no sign of a client. Whether
 * that client may do without proof is decided where clients are authenticated.
 */
export const withOwner = async (database: Database, { headers }: RequestContext, form: Form): Promise<Form> => {
  const token = form.get('refresh_token')
  if (token === undefined || headers.authorization !== undefined || NAMING.some((name) => form.has(name))) return form
  const row = await database.get<RefreshRow>(findRefresh, [hashOf(token)])
  return row === undefined ? form : new Map([...form, ['client_id', row.client_id]])
}
