/** Settings of the FHIR interface. Spec: [conformance]. */
import { Type } from '../../kernel/index.ts'

export const fhirConformance = Type.Object({
  update_as_create: Type.Boolean({
    default: false,
    env: 'SERVER_UPDATE_AS_CREATE',
    flag: 'update-as-create',
    description: "When true, PUT [type]/[id] to a missing id creates the resource under the client's id.",
  }),
  conditional_delete: Type.Union([Type.Literal('single'), Type.Literal('multiple')], {
    default: 'single',
    description:
      'Whether DELETE [type]?… deletes only where one resource matches and is refused with 412 otherwise, or all that match.',
  }),
})

export const fhirKeys = Type.Object({
  max_body_bytes: Type.Integer({
    default: 40 * 1024 * 1024,
    minimum: 1024,
    maximum: 1024 * 1024 * 1024,
    description: 'Largest request body in bytes, after unpacking gzip; a larger one is refused with 413.',
  }),
  page_size: Type.Integer({
    default: 50,
    minimum: 1,
    maximum: 10_000,
    description: 'Entries of a page when _count is not given; not more than max_page_size.',
  }),
  max_page_size: Type.Integer({
    default: 1000,
    minimum: 1,
    maximum: 10_000,
    description: 'Most entries of a page, whatever _count asks for.',
  }),
})
