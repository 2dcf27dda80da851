/** Requests made of R4 examples and broken in one way or several: address, method, headers, body, framing. */
import { gzipSync } from 'node:zlib'
import { bundleBody, OPERATIONS, operationBody, PATCH_TYPES, patchBody, resourceBody } from './bodies.ts'
import { mutateBytes, NASTY } from './mutations.ts'
import type { SeededRandom } from './random.ts'

export interface Example {
  readonly type: string
  readonly id: string
  readonly text: string
}

export interface Corpus {
  readonly examples: readonly Example[]
  /** Codes of search parameters. */
  readonly parameters: readonly string[]
}

export interface FuzzRequest {
  readonly bytes: Buffer
  readonly method: string
  /** False when the framing itself may be broken: such a request needs a connection of its own. */
  readonly framed: boolean
}

const METHODS = ['GET', 'GET', 'GET', 'POST', 'POST', 'PUT', 'PUT', 'PUT', 'DELETE', 'HEAD']
const OTHER_METHODS = ['PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'FOO', 'get']
const TYPES = [
  'application/fhir+json',
  'application/json',
  'application/fhir+json; charset=utf-8',
  'application/x-www-form-urlencoded',
]

const HEADERS: Readonly<Record<string, readonly string[]>> = {
  Accept: [
    '*/*',
    'text/html',
    'application/fhir+json;q=0',
    ',',
    ';',
    'application/json;;q=',
    'text/html;q=0.5, application/*',
  ],
  Prefer: [
    'return=minimal',
    'return=OperationOutcome',
    'handling=lenient',
    'return=',
    'handling=strict; return="representation"',
    ';;',
  ],
  'If-Match': ['W/"1"', '*', '"x"', 'W/"', '"1","2"', '', 'W/"99999999999999999999"'],
  'If-None-Match': ['*', 'W/"1"', '', '"', 'x'],
  'If-Modified-Since': ['Sun, 06 Nov 1994 08:49:37 GMT', 'x', '', 'Fri, 31 Dec 9999 23:59:59 GMT'],
  'If-None-Exist': ['identifier=x', '', '_id=1', '%', 'name=%00'],
  'X-Request-Id': ['a', 'a b', '"', '{}', 'a'.repeat(200)],
  'X-Forwarded-For': ['1.2.3.4', '::1', ',', 'x', '1.2.3.4, 5.6.7.8:99'],
  'X-HTTP-Method-Override': ['DELETE'],
  'Accept-Encoding': ['gzip', 'gzip;q=0', 'br', '*', 'gzip, gzip'],
  Authorization: ['Bearer x', 'Basic eA==', 'Bearer', ''],
  Range: ['bytes=0-1', 'bytes=9-1', 'x'],
  Cookie: ['a=b', '=', ';'],
  Origin: ['null', 'http://evil.example'],
  Upgrade: ['websocket', 'h2c'],
}
/** These change what the bytes of the body mean, or where the request ends. */
const FRAMING: Readonly<Record<string, readonly string[]>> = {
  'Content-Length': ['0', '1', '-1', '+1', '1e1', '5, 5', '18446744073709551616'],
  'Transfer-Encoding': ['chunked', 'identity', 'gzip, chunked', 'x'],
  Host: ['', 'y', 'x/y', 'a@b', '[::1]:80', 'é'],
  Expect: ['100-continue', 'x'],
  Connection: ['close', 'keep-alive', 'upgrade', 'x'],
}

const encode = (random: SeededRandom, text: string): string => {
  if (random.chance(0.1)) return text.replace(/[^\x21-\x7e]/g, '')
  try {
    return encodeURIComponent(text)
  } catch {
    return '%ED%A0%80'
  }
}

const MODIFIERS = [
  '',
  '',
  '',
  ':exact',
  ':contains',
  ':missing',
  ':not',
  ':identifier',
  ':Patient',
  ':text',
  ':in',
  ':below',
  ':x',
  ':',
]
const RESULT = [
  '_count',
  '_sort',
  '_include',
  '_revinclude',
  '_summary',
  '_elements',
  '_total',
  '_format',
  '_pretty',
  '_since',
  '_at',
  '_page',
  '_type',
  '_text',
  '_content',
  '_containedType',
  '_list',
  '_id',
  '_lastUpdated',
  '_has',
  '_filter',
  '_query',
  '_explain',
  '_contained',
]
const PREFIXES = ['', '', 'eq', 'ne', 'gt', 'le', 'sa', 'ap', 'xx']

const valueFrom = (random: SeededRandom, example: Example): string => {
  if (random.chance(0.4)) return random.pick(NASTY)
  const at = random.int(example.text.length)
  const text = example.text.slice(at, at + 1 + random.int(30))
  return random.chance(0.5) ? text.replace(/[^\w./:|-]/g, '') : text
}

const query = (random: SeededRandom, corpus: Corpus, example: Example): string => {
  const parts: string[] = []
  for (let times = random.int(4); times > 0; times -= 1) {
    const name = random.chance(0.5) ? random.pick(corpus.parameters) : random.pick(RESULT)
    const chained = random.chance(0.1) ? `${random.pick(corpus.parameters)}.${name}` : name
    const value = `${random.pick(PREFIXES)}${valueFrom(random, example)}`
    parts.push(`${encode(random, chained + random.pick(MODIFIERS))}=${encode(random, value)}`)
  }
  return parts.join('&')
}

/** Paths by method; now and then a method meets one that it does not belong to. */
const pathOf = (random: SeededRandom, method: string, type: string, id: string): string => {
  const instance = `/${type}/${id}`
  const version = `${instance}/_history/${random.pick(['1', '2', '0', 'x', '1e3'])}`
  const compartment = `${instance}/${random.pick(['Observation', '*', '$everything', 'x'])}`
  if (random.chance(0.1))
    return random.pick([instance, `/${type}`, `/${type}/_history`, version, compartment, '/', '/_history', '/metadata'])
  if (method === 'POST') return random.pick([`/${type}`, `/${type}`, `/${type}`, `/${type}/_search`, '/_search'])
  if (method !== 'GET' && method !== 'HEAD') return instance
  return random.pick([
    instance,
    instance,
    `/${type}`,
    `/${type}`,
    `/${type}`,
    `/${type}/_history`,
    `${instance}/_history`,
    version,
    compartment,
    '/',
    '/_history',
    '/metadata',
  ])
}

const address = (random: SeededRandom, corpus: Corpus, method: string, example: Example): string => {
  const type = random.chance(0.05) ? encode(random, random.pick(NASTY)) : example.type
  const id = random.chance(0.05) ? encode(random, random.pick(NASTY)) : example.id
  const path = pathOf(random, method, type, id)
  const asking = random.chance(method === 'GET' ? 0.7 : 0.1) ? `?${query(random, corpus, example)}` : ''
  return (path + asking).replace(/[\s\x7f-\uffff]/g, '').slice(0, 7_000)
}

/** What is asked of the server, before headers and framing. */
interface Asked {
  readonly method: string
  readonly target: string
  readonly contentType: string
  /** Undefined for a request without one. */
  readonly body: Buffer | undefined
}

const FHIR_JSON = TYPES[0] as string

const plain = (random: SeededRandom, corpus: Corpus, example: Example): Asked => {
  const method = random.chance(0.03) ? random.pick(OTHER_METHODS) : random.pick(METHODS)
  const type = random.chance(0.9)
    ? FHIR_JSON
    : random.pick([...TYPES, 'text/plain', '', 'x', 'application/fhir+json; charset=latin1'])
  const target = address(random, corpus, method, example)
  const sends = method === 'POST' || method === 'PUT' || method === 'PATCH' || random.chance(0.02)
  const contentType = target.includes('_search') && random.chance(0.9) ? (TYPES[3] as string) : type
  const isForm = contentType === 'application/x-www-form-urlencoded'
  const body = isForm ? Buffer.from(query(random, corpus, example)) : resourceBody(random, example)
  return { method, target, contentType, body: sends ? body : undefined }
}

const patch = (random: SeededRandom, _corpus: Corpus, example: Example): Asked => {
  const contentType = random.pick(PATCH_TYPES)
  const target = random.pick([`/${example.type}/${example.id}`, `/${example.type}?_id=${example.id}`])
  return { method: 'PATCH', target, contentType, body: patchBody(random, example, contentType) }
}

const operation = (random: SeededRandom, corpus: Corpus, example: Example): Asked => {
  const method = random.pick(['GET', 'POST', 'POST'])
  const { type, id } = example
  const place = random.pick(['', `/${type}`, `/${type}/${id}`, `/${type}/${id}`])
  const asking = random.chance(0.3) ? `?${query(random, corpus, example)}` : ''
  const target = `${place}/${random.pick(OPERATIONS)}${asking}`.replace(/[\s\x7f-\uffff]/g, '').slice(0, 7_000)
  const body = method === 'POST' ? operationBody(random, example) : undefined
  return { method, target, contentType: FHIR_JSON, body }
}

const bundle = (random: SeededRandom, corpus: Corpus): Asked => ({
  method: 'POST',
  target: '/',
  contentType: FHIR_JSON,
  body: bundleBody(random, corpus),
})

const KINDS = [plain, plain, plain, plain, plain, plain, plain, patch, operation, bundle]

const line = (name: string, value: string): string => `${name}: ${value.replace(/[\r\n]/g, ' ')}\r\n`

/** One request. The same random numbers give the same request. */
export const makeRequest = (random: SeededRandom, corpus: Corpus): FuzzRequest => {
  const example = random.pick(corpus.examples)
  const { method, target, contentType, body: sent } = random.pick(KINDS)(random, corpus, example)
  const sends = sent !== undefined
  let body: Buffer = sent ?? Buffer.alloc(0)
  let head = `${method} ${target} HTTP/1.1\r\n${line('Host', '127.0.0.1')}`
  if (sends && random.chance(0.03)) {
    body = gzipSync(body, { level: 1 })
    if (random.chance(0.5)) body = mutateBytes(random, body)
    head += line('Content-Encoding', random.pick(['gzip', 'gzip', 'gzip', 'br', 'gzip, gzip', 'x-gzip']))
  }
  if (sends) head += line('Content-Type', contentType) + line('Content-Length', String(body.length))
  for (let times = random.chance(0.3) ? 1 + random.int(3) : 0; times > 0; times -= 1) {
    const name = random.pick(Object.keys(HEADERS))
    const value = random.chance(0.8) ? random.pick(HEADERS[name] as string[]) : random.pick(NASTY)
    head += line(name, value.replace(/[^\x20-\x7e]/g, ''))
  }
  let framed = true
  if (random.chance(0.05)) {
    framed = false
    const name = random.pick(Object.keys(FRAMING))
    head += line(name, random.pick(FRAMING[name] as string[]))
  }
  let bytes: Buffer = Buffer.concat([Buffer.from(`${head}\r\n`, 'latin1'), body])
  if (random.chance(0.05)) {
    framed = false
    const cut = Buffer.byteLength(head, 'latin1') + 2
    bytes = random.chance(0.5)
      ? mutateBytes(random, bytes)
      : Buffer.concat([mutateBytes(random, bytes.subarray(0, cut)), body])
  }
  return { bytes, method, framed }
}
