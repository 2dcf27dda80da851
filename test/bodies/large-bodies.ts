/** Large bodies of legal size: what one request may hold, by kind. Made as text, from a size in bytes. */

export interface LargeBody {
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body: Buffer
  /** Statuses that the server may answer. */
  readonly status: readonly number[]
  readonly headers?: Readonly<Record<string, string>>
}

/** As many items as fit, joined by commas. */
const fill = (bytes: number, make: (n: number) => unknown): string => {
  const parts: string[] = []
  let size = 0
  for (let n = 0; size < bytes; n += 1) {
    const one = JSON.stringify(make(n))
    parts.push(one)
    size += one.length + 1
  }
  return parts.join(',')
}

const observation = (n: number): Record<string, unknown> => ({
  resourceType: 'Observation',
  status: 'final',
  category: [
    {
      coding: [
        {
          system: 'http://terminology.hl7.org/CodeSystem/observation-category',
          code: 'laboratory',
          display: 'Laboratory',
        },
      ],
    },
  ],
  code: {
    coding: [{ system: 'http://loinc.org', code: `${1000 + (n % 900)}-${n % 10}`, display: `Test ${n % 900}` }],
    text: `Test ${n}`,
  },
  effectiveDateTime: `2024-${String(1 + (n % 12)).padStart(2, '0')}-${String(1 + (n % 28)).padStart(2, '0')}T10:00:00Z`,
  valueQuantity: { value: n / 10, unit: 'mg/dL', system: 'http://unitsofmeasure.org', code: 'mg/dL' },
  interpretation: [{ text: `normal ${n}` }],
  note: [{ text: `The sample number ${n} was taken in the morning and read twice.` }],
})

const uuid = (n: number): string => `urn:uuid:00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

export const collection = (bytes: number): string =>
  `{"resourceType":"Bundle","type":"collection","entry":[${fill(bytes, (n) => ({ fullUrl: uuid(n), resource: observation(n) }))}]}`

const requests =
  (type: 'transaction' | 'batch') =>
  (bytes: number): string =>
    `{"resourceType":"Bundle","type":"${type}","entry":[${fill(bytes, (n) => ({
      fullUrl: uuid(n),
      resource: {
        ...observation(n),
        note: Array.from({ length: 12 }, (_, at) => ({
          text: `Line ${at} of the report on sample ${n}: nothing remarkable was seen in this field of view, which was looked at twice.`,
        })),
      },
      request: { method: 'POST', url: 'Observation' },
    }))}]}`

const list = (count: number): string =>
  `{"resourceType":"List","status":"current","mode":"working","entry":[${Array.from({ length: count }, (_, n) =>
    JSON.stringify({ item: { identifier: { system: 'http://example.org/items', value: `${n}` } }, date: '2024-01-02' }),
  ).join(',')}]}`

const references = (count: number): string =>
  `{"resourceType":"List","status":"current","mode":"working","entry":[${Array.from({ length: count }, () =>
    JSON.stringify({ item: { reference: 'Patient/probe' } }),
  ).join(',')}]}`

const response = (bytes: number): string =>
  `{"resourceType":"QuestionnaireResponse","status":"completed","item":[${fill(bytes, (n) => ({
    linkId: `group-${n}`,
    text: `Group ${n}`,
    item: [
      {
        linkId: `${n}.1`,
        answer: [{ valueString: `answer ${n}`, item: [{ linkId: `${n}.1.1`, answer: [{ valueInteger: n }] }] }],
      },
      {
        linkId: `${n}.2`,
        answer: [{ valueCoding: { system: 'http://example.org', code: `c${n % 50}` } }, { valueBoolean: true }],
      },
    ],
  }))}]}`

/** Inside one another, as deep as JSON may be here, and many of those. */
const nestedResponse = (bytes: number): string => {
  const nest = (n: number): Record<string, unknown> => {
    let item: Record<string, unknown> = { linkId: `leaf-${n}`, answer: [{ valueString: `deep ${n}` }] }
    for (let depth = 0; depth < 40; depth += 1) item = { linkId: `${n}.${depth}`, item: [item] }
    return item
  }
  return `{"resourceType":"QuestionnaireResponse","status":"completed","item":[${fill(bytes, nest)}]}`
}

const parameters = (bytes: number): string =>
  `{"resourceType":"Parameters","parameter":[{"name":"resource","resource":${collection(bytes)}}]}`

const binary = (bytes: number): string =>
  `{"resourceType":"Binary","contentType":"application/pdf","data":"${'QUJD'.repeat(Math.floor(bytes / 4))}"}`

/** Every entry breaks the structure several times over. */
const broken = (bytes: number): string =>
  `{"resourceType":"Bundle","type":"collection","entry":[${fill(bytes, (n) => ({
    fullUrl: uuid(n),
    resource: { resourceType: 'Observation', status: n, code: 'no', unknown: true, valueQuantity: { value: 'x' } },
  }))}]}`

/** Numbers that a list of a Bundle starts to be costly with. */
export interface Sizes {
  /** Bytes of a body. */
  readonly bytes: number
  /** Entries of a List. */
  readonly entries: number
}

const FHIR = { 'content-type': 'application/fhir+json' }
const JSON_PATCH = { 'content-type': 'application/json-patch+json' }

/** The text is made when `body` is read first: a caller may need few of the bodies, and making all takes seconds. */
const made = (one: Omit<LargeBody, 'body'>, text: () => string): LargeBody => {
  let body: Buffer | undefined
  return {
    ...one,
    get body() {
      body ??= Buffer.from(text())
      return body
    },
  }
}

/** In order: what is patched and put is stored before. `stored`: id of a Bundle that is stored already. */
export const largeBodies = ({ bytes, entries }: Sizes, stored: string): readonly LargeBody[] => {
  const post = (name: string, path: string, text: () => string, status: readonly number[] = [201]): LargeBody =>
    made({ name, method: 'POST', path, status, headers: FHIR }, text)
  const put = (name: string, size: number): LargeBody =>
    made({ name, method: 'PUT', path: `/Bundle/${stored}`, status: [200, 201], headers: FHIR }, () =>
      collection(size).replace('{', `{"id":"${stored}",`),
    )
  return [
    put('PUT of a collection', bytes),
    put('PUT of it again', bytes * 0.9),
    made(
      { name: 'JSON Patch of it', method: 'PATCH', path: `/Bundle/${stored}`, status: [200], headers: JSON_PATCH },
      () => JSON.stringify([{ op: 'add', path: '/language', value: 'en' }]),
    ),
    post('collection', '/Bundle', () => collection(bytes)),
    post('collection that is broken', '/Bundle', () => broken(bytes), [400]),
    post('Binary', '/Binary', () => binary(bytes)),
    post('QuestionnaireResponse', '/QuestionnaireResponse', () => response(bytes)),
    post('QuestionnaireResponse, nested', '/QuestionnaireResponse', () => nestedResponse(bytes)),
    post(`List of ${entries}`, '/List', () => list(entries)),
    post(`List of ${entries} references`, '/List', () => references(entries)),
    post('$validate', '/Bundle/$validate', () => parameters(bytes), [200]),
    post('transaction', '/', () => requests('transaction')(bytes), [200]),
    post('batch', '/', () => requests('batch')(bytes), [200]),
  ]
}
