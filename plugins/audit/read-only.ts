/** AuditEvents are the server's: no client creates, changes or deletes one. */
import type { WriteCheck } from '../fhir/service.ts'
import { AuditEventReadOnly } from './errors.ts'

const refusal = () => AuditEventReadOnly().with({ headers: { allow: 'GET, HEAD' } })

export const refuseChanges: WriteCheck = {
  name: 'audit',
  examine({ resource }) {
    if (resource.resourceType === 'AuditEvent') throw refusal()
  },
  confirm: (_request, _transaction, changes) =>
    changes
      .filter(({ version }) => version.type === 'AuditEvent')
      .map(({ interaction }) => ({ interaction, error: refusal() })),
}
