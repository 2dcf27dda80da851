/**
 * Access to a part of the data: a user who is a patient reads and writes the own record, everybody else is refused. Who
 * calls is told by another plugin; in a package of its own this one imports from 'refhir'.
 */
import { defineError, definePlugin, type Restriction } from '../kernel/index.ts'

const MAX_KEPT = 10_000 // restrictions in memory

const NotAPatient = defineError(
  'own-record/not-a-patient',
  403,
  'forbidden',
  'Only patients have access, to their record.',
)

/** The record, and whom it names: practitioners and organizations can be read and referred to, not searched. */
const recordOf = (id: string): Restriction => ({
  types: { Practitioner: [{ rights: 'r' }], Organization: [{ rights: 'r' }] },
  others: [{ rights: 'cruds', compartment: { type: 'Patient', id } }],
})

export default definePlugin({
  name: 'own-record',
  description: 'Patients have access to their own record',
  api: '^2.0.0',
  errors: { NotAPatient },
  setup({ hooks }) {
    // The same object for the same patient: what was compiled for it is used again.
    const kept = new Map<string, Restriction>()
    hooks.authorize.tap('the own record only', ({ caller }, _interaction, ruling) => {
      const id = /^Patient\/(.+)$/.exec(caller.user ?? '')?.[1]
      if (id === undefined) return ruling.refuse(NotAPatient())
      if (kept.size >= MAX_KEPT) kept.clear()
      const restriction = kept.get(id) ?? recordOf(id)
      kept.set(id, restriction)
      ruling.restrict(restriction)
    })
  },
})
