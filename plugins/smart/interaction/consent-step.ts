/** The step `consent`: the person decides what the client may do. It is always shown, whoever asks. */
import { grantedDetails } from '../grants/granted-details.ts'
import { AccessDenied } from '../oauth-errors.ts'
import { readIfOpen } from '../people/patient-access.ts'
import { MalformedPageRequest, NotYours, RequestGone } from '../web/page-errors.ts'
import { auditLogin } from './audit-login.ts'
import { completeRequest, refuseRequest } from './complete-request.ts'
import { readsOf } from './next-step.ts'
import { nameOf, titleOf } from './patient-rows.ts'
import { formOf, type InteractionParts, type PersonStepRequest, type StepPage } from './step-page.ts'

/** Host of the redirect URI, or its scheme for a native app. */
const returnsTo = (uri: string): string => {
  const { protocol, host } = URL.parse(uri) ?? { protocol: uri, host: uri }
  return protocol === 'https:' || protocol === 'http:' ? host : protocol
}

/** The names of the context. Throws `NotYours` when the person may not open it any more. */
const namesOf = async (
  parts: InteractionParts,
  { ctx, pending, session }: PersonStepRequest,
): Promise<{ readonly patientName: string | undefined; readonly encounterTitle: string | undefined }> => {
  const { patient, encounter } = pending.chosen
  if (patient === undefined) return { patientName: undefined, encounterTitle: undefined }
  const reads = (await readsOf(parts, ctx, pending, session.person)).open(patient)
  const shown = await readIfOpen(reads, 'Patient', patient)
  const visit = encounter === undefined ? undefined : await readIfOpen(reads, 'Encounter', encounter)
  if (shown === undefined || (encounter !== undefined && visit === undefined)) throw NotYours()
  return {
    patientName: nameOf(shown) || `Patient/${patient}`,
    encounterTitle: visit === undefined ? undefined : titleOf(visit),
  }
}

/** Of the scopes that were offered, those that stay. `patient/` scopes need a patient. */
const keptScopes = ({ pending: { params, chosen }, parameters: { all } }: PersonStepRequest): string => {
  const checked = new Set(all.get('scope'))
  return params.scope
    .split(' ')
    .filter((one) => checked.has(one) && (!one.startsWith('patient/') || chosen.patient !== undefined))
    .join(' ')
}

export const createConsentStep = (parts: InteractionParts): StepPage<PersonStepRequest> => ({
  async show(request) {
    const { ctx, pending, session } = request
    const client = await parts.clients.find(pending.client)
    if (client === undefined) throw RequestGone()
    const { metadata } = client
    return {
      html: parts.pages.consent({
        ...formOf(ctx, pending),
        clientId: client.id,
        clientName: metadata.client_name ?? client.id,
        clientUri: metadata.client_uri,
        returnsTo: returnsTo(pending.params.redirectUri),
        userName: session.name,
        ...(await namesOf(parts, request)),
        scopes: pending.params.scope.split(' '),
      }),
      csp: parts.pages.csp(pending.params.redirectUri),
    }
  },
  async take(request) {
    const { ctx, pending, session, parameters } = request
    const { client, chosen } = pending
    const { person } = session
    const [decision, ...more] = parameters.all.get('decision') ?? []
    if (more.length > 0 || (decision !== 'allow' && decision !== 'deny'))
      throw MalformedPageRequest('decision takes allow or deny')
    const scope = decision === 'deny' ? '' : keptScopes(request)
    if (scope === '') {
      const details = grantedDetails(chosen.patient)
      await auditLogin(parts, ctx, { operation: 'denial', client, person, status: 200, details })
      return refuseRequest(parts, ctx, pending, AccessDenied())
    }
    if ((await parts.clients.find(client)) === undefined) throw RequestGone()
    if (chosen.patient !== undefined) await namesOf(parts, request)
    const done = await completeRequest(parts, ctx, pending, session, scope)
    const details = grantedDetails(chosen.patient, scope)
    await auditLogin(parts, ctx, { operation: 'consent', client, person, status: 200, details })
    return done
  },
})
