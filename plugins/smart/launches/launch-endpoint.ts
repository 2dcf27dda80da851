/**
 * POST /oauth/launch: an EHR makes a launch value for an app that it is about to open. The EHR authenticates as a
 * client, by a secret or an assertion, and can launch only what the `system/` scopes of its registration let it read.
 */
import type { Clock, RequestContext } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { Resources, SessionReads } from '../../fhir/service.ts'
import type { AuthenticateClient } from '../client-auth/authenticate-client.ts'
import { BUILT_IN, type Client } from '../clients/client.ts'
import type { Clients } from '../clients/clients.ts'
import type { Form } from '../endpoints/form.ts'
import type { FormEndpoint } from '../endpoints/mount-oauth.ts'
import { grantedDetails } from '../grants/granted-details.ts'
import type { LaunchContext } from '../grants/launch-context.ts'
import { PATHS, tokenUrlOf } from '../issuer.ts'
import { InvalidClient, InvalidRequest, UnauthorizedClient } from '../oauth-errors.ts'
import { readIfOpen } from '../people/patient-access.ts'
import { parseScope } from '../scopes/parse-scope.ts'
import { scopeRestriction } from '../scopes/scope-restriction.ts'
import { readFhirContext } from './fhir-context.ts'
import { LAUNCH_SECONDS, makeLaunch } from './launches.ts'

export interface LaunchEndpointParts {
  readonly database: Database
  readonly clock: Clock
  readonly clients: Clients
  readonly resources: Resources
  readonly authenticateClient: AuthenticateClient
}

const ID = /^[A-Za-z0-9.-]{1,64}$/

/** Reads as the client; the built-in one belongs to the operator, and reads every patient. */
const readsOf = (resources: Resources, ctx: RequestContext, client: Client): SessionReads => {
  const registered = client.id === BUILT_IN ? 'system/Patient.r system/Encounter.r' : (client.metadata.scope ?? '')
  const scopes = registered.split(' ').flatMap((one) => {
    const scope = parseScope(one)
    return scope?.kind === 'resource' && scope.level === 'system' ? [scope] : []
  })
  if (scopes.length === 0) throw UnauthorizedClient()
  const caller = { kind: 'client' as const, client: client.id }
  const restrictions = [scopeRestriction(scopes, caller, () => true)]
  return resources.as({ kind: 'stored', caller, restrictions, purpose: 'launch', baseUrl: ctx.baseUrl })
}

const idOf = (form: Form, name: string): string | undefined => {
  const id = form.get(name)
  if (id !== undefined && !ID.test(id)) throw InvalidRequest(`${name} is not an id`)
  return id
}

/** Throws `InvalidRequest` when the client may not read what it names, or when the encounter is of another patient. */
const readContext = async (reads: SessionReads, form: Form): Promise<LaunchContext> => {
  const patient = idOf(form, 'patient')
  const encounter = idOf(form, 'encounter')
  const fhirContext = readFhirContext(form.get('fhirContext'))
  if (encounter !== undefined && patient === undefined) throw InvalidRequest('encounter needs a patient')
  if (patient !== undefined && (await readIfOpen(reads, 'Patient', patient)) === undefined)
    throw InvalidRequest('the patient does not exist, or is hidden from this client')
  if (encounter !== undefined) {
    const subject = (await readIfOpen(reads, 'Encounter', encounter))?.subject as { reference?: unknown } | undefined
    if (subject?.reference !== `Patient/${patient}`)
      throw InvalidRequest('the encounter does not exist, is hidden from this client, or is of another patient')
  }
  return {
    ...(patient !== undefined && { patient }),
    ...(encounter !== undefined && { encounter }),
    ...(fhirContext !== undefined && { fhirContext }),
  }
}

export const launchEndpoint = (parts: LaunchEndpointParts): FormEndpoint => ({
  path: PATHS.launch,
  operation: 'launch',
  audited: true,
  async answer(ctx, form) {
    const { database, clock, clients, resources, authenticateClient } = parts
    const ehr = await authenticateClient({ ctx, form, tokenUrl: tokenUrlOf(ctx) })
    // A public client proves nothing: anybody can send its id.
    if (ehr.metadata.token_endpoint_auth_method === 'none') throw InvalidClient()
    const context = await readContext(readsOf(resources, ctx, ehr), form)
    const client = form.get('app')
    if (client !== undefined && (await clients.find(client)) === undefined)
      throw InvalidRequest('app is not the client_id of a client')
    const now = clock.now()
    const launch = await database.transact((transaction) => makeLaunch(transaction, { client, context, now }))
    return {
      status: 201,
      body: { launch, expires_in: LAUNCH_SECONDS },
      details: grantedDetails(context.patient),
    }
  },
})
