/**
 * reference_policy = "fhir": the target of a reference need not exist here, but its type must be one that the element
 * allows.
 */
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
