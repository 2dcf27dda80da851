/** reference_policy = "fhir": what a reference points at may be unknown here; its type must be one the element allows. */
import type { Fhir, ReadReference, WriteCheck } from '../fhir/service.ts'
import { faultOfType } from './reference-issue.ts'
import { type FoundReferenceIssue, refusalOf } from './refusal.ts'

export const faultsOfTypes = (all: readonly ReadReference[]): readonly FoundReferenceIssue[] =>
  all.flatMap((reference, at) => {
    const fault = faultOfType(reference)
    return fault === undefined ? [] : [{ at, reference, fault }]
  })

export const typesOnly = (fhir: Fhir): WriteCheck => ({
  name: 'references',
  checkContent({ request, resource }) {
    const faults = faultsOfTypes(fhir.references.of(resource, request.ownUrl))
    if (faults.length > 0) throw refusalOf(fhir.references, resource, faults)
  },
})
