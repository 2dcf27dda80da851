/** The setting reference_policy. Spec: [conformance] reference_policy. */
import { Type } from '../../kernel/index.ts'

export const referenceConformance = Type.Object({
  reference_policy: Type.Union([Type.Literal('strict'), Type.Literal('fhir')], {
    default: 'strict',
    flag: 'references',
    description:
      'What a reference may point at: with strict a resource this server holds, of a type its element allows, at any depth; with fhir also what the server does not hold, and the type is still checked.',
  }),
})
