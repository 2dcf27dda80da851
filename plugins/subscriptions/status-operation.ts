/**
 * Subscription/[id]/$status.
 * http://hl7.org/fhir/uv/subscriptions-backport/OperationDefinition/backport-subscription-status
 */
import type { Database } from '../database/service.ts'
import type { Operation } from '../fhir/service.ts'
import { readState, type StateRow } from './tables.ts'

const PROFILE = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/backport-subscription-status-r4'

export const statusOperation = (database: Pick<Database, 'get'>): Operation => ({
  code: 'status',
  definition: 'http://hl7.org/fhir/uv/subscriptions-backport/OperationDefinition/backport-subscription-status',
  documentation: 'The status of a Subscription, and how many events it has had.',
  levels: ['instance'],
  types: ['Subscription'],
  parameters: [],
  async answer({ request, interaction, data }) {
    const { json, id } = await data.read('Subscription', interaction.id as string)
    const { status, error } = JSON.parse(json) as { readonly status?: string; readonly error?: string }
    const row = await database.get<StateRow>(readState, [id])
    const parameter = [
      { name: 'subscription', valueReference: { reference: `Subscription/${id}` } },
      { name: 'status', valueCode: status },
      { name: 'type', valueCode: 'query-status' },
      { name: 'eventsSinceSubscriptionStart', valueString: String(row?.events ?? 0) },
      ...(error === undefined ? [] : [{ name: 'error', valueCodeableConcept: { text: error } }]),
    ]
    return {
      resource: {
        resourceType: 'Bundle',
        type: 'searchset',
        total: 1,
        entry: [
          {
            fullUrl: `urn:uuid:${request.id}`,
            resource: { resourceType: 'Parameters', meta: { profile: [PROFILE] }, parameter },
            search: { mode: 'match' },
          },
        ],
      },
    }
  },
})
