/**
 * Access to a part of the data: a user who is a patient reads and writes their own record, all others are refused.
 * Another plugin authenticates the caller. In a package of its own this plugin imports from 'refhir'.
 */
import { defineError, definePlugin, type Restriction } from '../kernel/index.ts'

const MAX_KEPT = 10_000 // cached restrictions

const NotAPatient = defineError(
  'own-record/not-a-patient',
  403,
  'forbidden',
  'Only patients have access, to their record.',
)

/**
 * The patient's compartment, and the practitioners and organizations it refers to: these may be read and referred to,
 * but not searched.
 */
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
    // Gives the same object for the same patient, so that what was compiled for it is used again.
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
