/** What the operations of the document share, by reference: that keeps it small. https://spec.openapis.org/oas/v3.1.1 */
import type { CapabilityStatement } from './capability-statement.ts'

export type Json = Record<string, unknown>

export const ref = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` })

/** The media types of resources: `format` of /metadata has short names as well. */
const mediaTypes = ({ format }: CapabilityStatement): readonly string[] => format.filter((one) => one.includes('/'))

export const contentOf = (statement: CapabilityStatement, schema: string): Json =>
  Object.fromEntries(mediaTypes(statement).map((type) => [type, { schema: ref('schemas', schema) }]))

const string = { type: 'string' }
const resource = (type: string, properties: Json): Json => ({
  type: 'object',
  required: ['resourceType'],
  properties: { resourceType: { const: type }, ...properties },
})
const list = (items: Json): Json => ({ type: 'array', items })

export const schemasOf = (types: readonly string[]): Json => ({
  ResourceType: { enum: types },
  Resource: {
    type: 'object',
    required: ['resourceType'],
    properties: { resourceType: string, id: string, meta: { type: 'object' } },
    description: 'A resource of the type of the address, as the installed packages define it.',
  },
  Bundle: resource('Bundle', {
    type: string,
    total: { type: 'integer' },
    link: list({ type: 'object' }),
    entry: list({ type: 'object' }),
  }),
  Parameters: resource('Parameters', { parameter: list({ type: 'object' }) }),
  OperationOutcome: resource('OperationOutcome', {
    issue: list({
      type: 'object',
      required: ['severity', 'code'],
      properties: {
        severity: { enum: ['fatal', 'error', 'warning', 'information'] },
        code: string,
        diagnostics: string,
        expression: list(string),
      },
    }),
  }),
  SearchForm: { type: 'object', additionalProperties: { type: ['string', 'array'], items: string } },
})

const header = (description: string): Json => ({ description, schema: string })

export const responsesOf = (statement: CapabilityStatement): Json => ({
  Resource: {
    description: 'The resource.',
    headers: { ETag: header('Its version.'), 'Last-Modified': header('The time of its version.') },
    content: contentOf(statement, 'Resource'),
  },
  Created: {
    description: 'Created; it is on disk.',
    headers: { Location: header('The version that was made.'), ETag: header('Its version.') },
    content: contentOf(statement, 'Resource'),
  },
  Deleted: { description: 'Deleted, or there is nothing to delete.' },
  NotModified: { description: 'The client has this version.' },
  Bundle: { description: 'A Bundle.', content: contentOf(statement, 'Bundle') },
  Error: {
    description: 'Refused or failed; the issue says what happened and what to do.',
    content: contentOf(statement, 'OperationOutcome'),
  },
  Answer: { description: 'The answer.' },
})

const query = (name: string, description: string): Json => ({
  name,
  in: 'query',
  description,
  schema: list(string),
})
const sent = (name: string, description: string): Json => ({ name, in: 'header', description, schema: string })
const inPath = (name: string, description: string, schema: Json = string): Json => ({
  name,
  in: 'path',
  required: true,
  description,
  schema,
})

const ID = { type: 'string', pattern: '^[A-Za-z0-9.-]{1,64}$' }

/** The key of the component of a search parameter: parameters of one name and type share it. */
export const searchKey = (name: string, type: string): string => `search.${name}.${type}`

export const parametersOf = (statement: CapabilityStatement, resultParameters: readonly string[]): Json => {
  const searched = (statement.rest[0]?.resource ?? []).flatMap(({ searchParam = [] }) => searchParam)
  return {
    id: inPath('id', 'The id of the resource.', ID),
    version: inPath('version', 'The number of the version.'),
    type: inPath('type', 'A resource type.', ref('schemas', 'ResourceType')),
    compartment: inPath('compartment', 'The type of a compartment, such as Patient.'),
    other: inPath('other', 'A resource type, or * for all of them.'),
    criteria: {
      ...{ name: 'criteria', in: 'query', required: true, style: 'form', explode: true },
      description: 'Search parameters of the type, as those of its GET, that select what is changed.',
      schema: { type: 'object', minProperties: 1, additionalProperties: string },
    },
    ifMatch: sent('If-Match', 'Versions, one of which has to be the current one.'),
    ifNoneMatch: sent(
      'If-None-Match',
      'For a read the version that the client has; for a change *, when nothing may be there.',
    ),
    ifModifiedSince: sent('If-Modified-Since', 'The time of what the client has.'),
    ifUnmodifiedSince: sent('If-Unmodified-Since', 'Refused when it was changed after that time.'),
    ifNoneExist: sent('If-None-Exist', 'A search: creates only where nothing matches.'),
    prefer: sent('Prefer', 'return=minimal, representation or OperationOutcome; handling=lenient or strict.'),
    ...Object.fromEntries(resultParameters.map((name) => [`result.${name}`, query(name, 'Concerns the result.')])),
    'history._since': query('_since', 'Versions of this time and later.'),
    'history._at': query('_at', 'Versions that were current at this time.'),
    ...Object.fromEntries(
      searched.map(({ name, type }) => [searchKey(name, type), query(name, `Search parameter of type ${type}.`)]),
    ),
  }
}
