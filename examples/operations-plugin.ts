/**
 * Two operations: one that reads, one that changes data. Each invocation is authorized and audited, in Bundles too, and
 * reads and changes only what its caller may. In a package of its own this plugin imports from 'refhir'.
 */
import { definePlugin } from '../kernel/index.ts'
import { Fhir } from '../plugins/fhir/service.ts'

export default definePlugin({
  name: 'care-team-desk',
  description: 'Counts the observations of a patient, and retires patients',
  needs: { fhir: Fhir },
  setup({ needs: { fhir } }) {
    fhir.operation({
      code: 'count-observations',
      definition: 'http://example.org/OperationDefinition/count-observations',
      documentation: 'How many observations there are of a patient, of one code if it is given.',
      levels: ['instance'],
      types: ['Patient'],
      parameters: [{ name: 'code', type: 'code', documentation: 'Only observations of this code.' }],
      async answer({ interaction: { id }, inputs, data }) {
        const code = inputs.get<string>('code')
        const { id: patient } = await data.read('Patient', id as string)
        const query = new URLSearchParams({ subject: `Patient/${patient}`, ...(code === undefined ? {} : { code }) })
        const { total = 0 } = await data.search('Observation', `${query}&_summary=count`)
        return {
          resource: { resourceType: 'Parameters', parameter: [{ name: 'return', valueInteger: total }] },
        }
      },
    })
    fhir.operation({
      code: 'retire',
      definition: 'http://example.org/OperationDefinition/retire',
      documentation: 'Marks a patient as no longer active.',
      levels: ['instance'],
      types: ['Patient'],
      parameters: [],
      change: ({ interaction: { id } }) => ({
        changes: [
          {
            kind: 'modify',
            type: 'Patient',
            id: id as string,
            modify(json) {
              const patient = JSON.parse(json) as { active?: boolean }
              return patient.active === false ? undefined : JSON.stringify({ ...patient, active: false })
            },
          },
        ],
        answer: ([patient]) => (patient?.json === undefined ? {} : { json: patient.json }),
      }),
    })
  },
})
