/** The paths of the interactions of FHIR, from the capability statement. https://hl7.org/fhir/R4/http.html#summary */
import type { CapabilityResource, CapabilityStatement } from './capability-statement.ts'
import { contentOf, type Json, ref, searchKey } from './components.ts'
import type { PathTable } from './path-table.ts'

const parameter = (name: string): Json => ref('parameters', name)
const parameters = (...names: readonly string[]): readonly Json[] => names.map(parameter)
const response = (name: string): Json => ref('responses', name)
const ERROR = { default: response('Error') }
const SHOWN = ['_summary', '_elements', '_format', '_pretty'].map((name) => `result.${name}`)
const HISTORY = ['history._since', 'history._at', 'result._count']
const PRECONDITIONS = ['ifMatch', 'ifNoneMatch', 'ifUnmodifiedSince', 'prefer']

const FORM: Json = {
  content: { 'application/x-www-form-urlencoded': { schema: ref('schemas', 'SearchForm') } },
}

const patchBody = ({ patchFormat }: CapabilityStatement): Json => ({
  required: true,
  content: Object.fromEntries(patchFormat.map((type) => [type, { schema: { type: ['object', 'array'] } }])),
})

type Listed = readonly (readonly [method: string, path: string, operation: Json])[]
type ByCode = Readonly<Record<string, Listed>>

/** `query` are the parameters of a search of the type. */
const readsOf = ({ type }: CapabilityResource, query: readonly Json[]): ByCode => {
  const read = { 200: response('Resource'), 304: response('NotModified'), ...ERROR }
  const found = { 200: response('Bundle'), ...ERROR }
  const at = `/${type}/{id}`
  const base = `/${type}`
  return {
    read: [
      [
        'GET',
        at,
        {
          operationId: `read${type}`,
          parameters: parameters('id', 'ifNoneMatch', 'ifModifiedSince', ...SHOWN),
          responses: read,
        },
      ],
    ],
    vread: [
      [
        'GET',
        `${at}/_history/{version}`,
        { operationId: `vread${type}`, parameters: parameters('id', 'version', ...SHOWN), responses: read },
      ],
    ],
    'history-instance': [
      [
        'GET',
        `${at}/_history`,
        { operationId: `historyOf${type}`, parameters: parameters('id', ...HISTORY), responses: found },
      ],
    ],
    'history-type': [
      [
        'GET',
        `${base}/_history`,
        { operationId: `historyOfAll${type}`, parameters: parameters(...HISTORY), responses: found },
      ],
    ],
    'search-type': [
      ['GET', base, { operationId: `search${type}`, parameters: query, responses: found }],
      ['POST', `${base}/_search`, { operationId: `searchByForm${type}`, requestBody: FORM, responses: found }],
    ],
  }
}

const changesOf = (
  statement: CapabilityStatement,
  { type, conditionalCreate, conditionalUpdate, conditionalDelete }: CapabilityResource,
): ByCode => {
  const body = { required: true, content: contentOf(statement, type === 'Bundle' ? 'Bundle' : 'Resource') }
  const changed = { 200: response('Resource'), 201: response('Created'), ...ERROR }
  const deleted = { 204: response('Deleted'), 200: response('Resource'), ...ERROR }
  const criteria = parameters('criteria', ...PRECONDITIONS)
  const at = `/${type}/{id}`
  const base = `/${type}`
  return {
    create: [
      [
        'POST',
        base,
        {
          operationId: `create${type}`,
          parameters: parameters(...(conditionalCreate === true ? ['ifNoneExist'] : []), 'prefer'),
          requestBody: body,
          responses: changed,
        },
      ],
    ],
    update: [
      [
        'PUT',
        at,
        {
          operationId: `update${type}`,
          parameters: parameters('id', ...PRECONDITIONS),
          requestBody: body,
          responses: changed,
        },
      ],
      ...(conditionalUpdate === true
        ? [
            [
              'PUT',
              base,
              { operationId: `conditionalUpdate${type}`, parameters: criteria, requestBody: body, responses: changed },
            ] as const,
          ]
        : []),
    ],
    patch: [
      [
        'PATCH',
        at,
        {
          operationId: `patch${type}`,
          parameters: parameters('id', ...PRECONDITIONS),
          requestBody: patchBody(statement),
          responses: changed,
        },
      ],
      ...(conditionalUpdate === true
        ? [
            [
              'PATCH',
              base,
              {
                operationId: `conditionalPatch${type}`,
                parameters: criteria,
                requestBody: patchBody(statement),
                responses: changed,
              },
            ] as const,
          ]
        : []),
    ],
    delete: [
      [
        'DELETE',
        at,
        { operationId: `delete${type}`, parameters: parameters('id', ...PRECONDITIONS), responses: deleted },
      ],
      ...(conditionalDelete === 'not-supported'
        ? []
        : [
            [
              'DELETE',
              base,
              { operationId: `conditionalDelete${type}`, parameters: criteria, responses: deleted },
            ] as const,
          ]),
    ],
  }
}

export const addResourcePaths = (
  table: PathTable,
  statement: CapabilityStatement,
  resultParameters: readonly string[],
): void => {
  const results = parameters(...resultParameters.map((name) => `result.${name}`))
  for (const resource of statement.rest[0]?.resource ?? []) {
    const searched = (resource.searchParam ?? []).map(({ name, type }) => parameter(searchKey(name, type)))
    // _type is of searches over several types.
    const own = results.filter((one) => one.$ref !== parameter('result._type').$ref)
    const all: ByCode = { ...readsOf(resource, [...searched, ...own]), ...changesOf(statement, resource) }
    for (const { code } of resource.interaction)
      for (const [method, path, operation] of all[code] ?? [])
        table.add(method, path, { tags: [resource.type], ...operation })
  }
  const found = { 200: response('Bundle'), ...ERROR }
  const tags = ['fhir']
  table.add('GET', '/', { tags, operationId: 'searchAll', parameters: results, responses: found })
  table.add('POST', '/_search', { tags, operationId: 'searchAllByForm', requestBody: FORM, responses: found })
  table.add('GET', '/_history', {
    tags,
    operationId: 'historyOfAll',
    parameters: parameters(...HISTORY),
    responses: found,
  })
  const bundle = { required: true, content: contentOf(statement, 'Bundle') }
  table.add('POST', '/', {
    tags,
    operationId: 'bundle',
    description: 'A Bundle of type batch or transaction.',
    requestBody: bundle,
    responses: found,
  })
  const compartment = { parameters: [...parameters('compartment', 'id', 'other'), ...results], responses: found }
  table.add('GET', '/{compartment}/{id}/{other}', { tags, operationId: 'searchCompartment', ...compartment })
  const shown = { 200: response('Resource'), ...ERROR }
  table.add('GET', '/metadata', {
    tags,
    operationId: 'capabilities',
    parameters: parameters(...SHOWN),
    responses: shown,
  })
}
