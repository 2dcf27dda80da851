/** Errors of batches and transactions. https://hl7.org/fhir/R4/http.html#transaction */
import { defineError } from '../../../kernel/index.ts'

export const BundleExpected = defineError(
  'fhir/bundle-expected',
  400,
  'invalid',
  'The base takes a Bundle of type batch or transaction; this is %s. A resource is sent to the address of its type.',
)
export const BundleMalformed = defineError('fhir/bundle-malformed', 400, 'structure', 'The Bundle is not one: %s.')
export const BundleTooLarge = defineError(
  'fhir/bundle-too-large',
  413,
  'too-costly',
  'The Bundle has %s entries, at most %s are taken; send several Bundles.',
)
export const BundleAnswerTooLarge = defineError(
  'fhir/bundle-answer-too-large',
  413,
  'too-costly',
  'The answer to the Bundle would be larger than %s bytes; ask for less in one Bundle.',
)
export const ClientDisconnected = defineError(
  'fhir/bundle-left',
  503,
  'incomplete',
  'The client left before its Bundle was done. Of a transaction nothing is stored; of a batch, what was done by then.',
)
export const EntryMalformed = defineError('fhir/entry-malformed', 400, 'structure', 'The entry is not one: %s.')
export const EntryMethodUnknown = defineError(
  'fhir/entry-method',
  400,
  'value',
  'The method "%s" is none of GET, HEAD, POST, PUT, PATCH and DELETE.',
)
export const EntryUrl = defineError(
  'fhir/entry-url',
  400,
  'value',
  'The URL of an entry is a path of this server without its base, such as Patient/1 or Patient?name=x; %s.',
)
export const EntryAddress = defineError(
  'fhir/entry-address',
  404,
  'not-found',
  'There is nothing at this address that an entry of a Bundle could ask for.',
)
export const EntrySearch = defineError(
  'fhir/entry-search',
  400,
  'invalid',
  'A search takes its parameters in the URL of its entry, such as Patient/_search?name=x, and no resource.',
)
export const EntryResource = defineError(
  'fhir/entry-resource',
  400,
  'required',
  'The entry has no resource, and its method needs one.',
)
export const NestedBundle = defineError(
  'fhir/nested-bundle',
  400,
  'invalid',
  'A Bundle cannot be an entry of a Bundle; send it by itself.',
)
export const DuplicateFullUrl = defineError(
  'fhir/duplicate-full-url',
  400,
  'invalid',
  'The entries %s and %s have the same fullUrl; each stands for one resource.',
)
export const DuplicateTarget = defineError(
  'fhir/duplicate-target',
  400,
  'invalid',
  'Another entry changes %s too; a resource can be changed once in a Bundle.',
)
export const ConditionalReferenceNone = defineError(
  'fhir/conditional-reference-none',
  400,
  'not-found',
  'The conditional reference to %s matches nothing.',
)
export const ConditionalReferenceMany = defineError(
  'fhir/conditional-reference-many',
  412,
  'multiple-matches',
  'The conditional reference to %s matches several resources.',
)
export const ConditionalReferenceUndecided = defineError(
  'fhir/conditional-reference-undecided',
  400,
  'not-supported',
  'The conditional reference to %s searches through other resources, so its matches cannot be decided before this Bundle is written.',
)
