/** A server with the demo login, some records, and the steps of a client that logs people in. */
import { createHash, randomBytes } from 'node:crypto'
import cors from '../../plugins/cors/index.ts'
import database from '../../plugins/database/index.ts'
import { Resources } from '../../plugins/fhir/service.ts'
import limits from '../../plugins/limits/index.ts'
import probes from '../../plugins/probes/index.ts'
import smart from '../../plugins/smart/index.ts'
import type { DatabaseKind, FreshDatabase } from './database-kinds.ts'
import { fhirPlugins } from './fhir-plugins.ts'
import { type AnsweringServer, type TestServer, withReadyKeys } from './server-with.ts'
import { basicOf, ISSUER, type Parameters, postForm, register, type SmartOptions, smartServer } from './smart-server.ts'
import { stubDefinitions } from './stub-definitions.ts'
import { type BrowserPage, createTestBrowser, type TestBrowser } from './test-browser.ts'

export type Json = Record<string, any>

const DEFINITIONS = [
  ...['Patient', 'Observation', 'Condition', 'Encounter', 'Practitioner', 'PractitionerRole', 'Organization', 'Binary'],
  ...[
    'Bundle',
    'RelatedPerson',
    'AuditEvent',
    'Element',
    'Extension',
    'Reference',
    'Identifier',
    'HumanName',
    'Period',
  ],
  ...['Narrative', 'Meta', 'Coding', 'CodeableConcept'],
]
const PARAMETERS =
  /^(SearchParameter-(Patient|Observation|Condition|Encounter|Practitioner|RelatedPerson|Resource|clinical|individual)-|CompartmentDefinition-patient)/

/** What scopes and pickers need. */
export const clinicDefinitions = stubDefinitions(DEFINITIONS, PARAMETERS)

/** As the shared plugins of a server. */
export const clinicPlugins = [database, clinicDefinitions, ...fhirPlugins, probes, limits, cors, smart]

const encounter = (id: string, patient: string): Json => ({
  ...{ resourceType: 'Encounter', id, status: 'finished' },
  class: { code: 'AMB', display: 'ambulatory' },
  subject: { reference: `Patient/${patient}` },
  period: { start: '2024-05-01T09:00:00Z' },
})

export const RECORDS: readonly Json[] = [
  { resourceType: 'Practitioner', id: 'doc', active: true },
  {
    ...{ resourceType: 'Patient', id: 'p1', gender: 'female', birthDate: '1970-12-31' },
    name: [{ given: ['Anna'], family: 'Example' }],
    identifier: [{ system: 'urn:mrn', value: 'MRN-1,a|b$c' }],
  },
  { resourceType: 'Patient', id: 'p2', gender: 'male', birthDate: '1980', name: [{ text: 'Bob <b>Other</b>' }] },
  { resourceType: 'RelatedPerson', id: 'mother', active: true, patient: { reference: 'Patient/p1' } },
  encounter('e1', 'p1'),
  encounter('e2', 'p2'),
  { resourceType: 'Observation', id: 'o1', status: 'final', code: { text: 'x' }, subject: { reference: 'Patient/p1' } },
  { resourceType: 'Observation', id: 'o2', status: 'final', code: { text: 'x' }, subject: { reference: 'Patient/p2' } },
]

export const loginClinic = async (options: SmartOptions = {}): Promise<TestServer> => {
  const server = await smartServer({
    plugins: clinicPlugins,
    ...options,
    smart: { demo_login: true, ...options.smart },
    settings: { conformance: { update_as_create: true }, ...options.settings },
  })
  await store(server, RECORDS)
  return server
}

/** A database for several of these servers, which has their tables already. */
export const freshForClinic = async (kind: DatabaseKind): Promise<FreshDatabase> =>
  kind.fresh(await withReadyKeys(clinicPlugins))

/** Stores records as the server itself. */
export const store = async (server: TestServer, records: readonly Json[]): Promise<void> => {
  await server
    .get(Resources)
    .as({ kind: 'internal', purpose: 'test' })
    .change(
      records.map(
        (one) => ({ kind: 'update', type: one.resourceType, id: one.id, json: JSON.stringify(one) }) as const,
      ),
    )
}

export const removeRecord = async (server: TestServer, type: string, id: string): Promise<void> => {
  await server
    .get(Resources)
    .as({ kind: 'internal', purpose: 'test' })
    .change([{ kind: 'delete', type, id }])
}

export interface App {
  readonly id: string
  readonly redirectUri: string
  /** Undefined for a public client. */
  readonly secret: string | undefined
}

export const REDIRECT = 'https://app.example.org/callback'

/** A public client, unless the metadata say more. */
export const registerApp = async (server: AnsweringServer, metadata: Json = {}): Promise<App> => {
  const all = {
    client_name: 'Growth chart',
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
    ...metadata,
  }
  const answer = await register(server, all)
  if (answer.statusCode !== 201) throw new Error(answer.body)
  const { client_id: id, client_secret: secret } = answer.json() as { client_id: string; client_secret?: string }
  return { id, redirectUri: all.redirect_uris[0] as string, secret }
}

export interface Asked {
  readonly url: string
  readonly verifier: string
  readonly state: string
  readonly parameters: Parameters
}

export const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')

/** An authorization request; a parameter that is undefined is left out. */
export const askFor = (app: App, scope: string, more: Readonly<Record<string, string | undefined>> = {}): Asked => {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(8).toString('hex')
  const given: Record<string, string | undefined> = {
    ...{ response_type: 'code', client_id: app.id, redirect_uri: app.redirectUri, scope, state, aud: ISSUER },
    ...{ code_challenge: challengeOf(verifier), code_challenge_method: 'S256' },
    ...more,
  }
  const parameters = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Parameters
  return { url: `/oauth/authorize?${new URLSearchParams(parameters).toString()}`, verifier, state, parameters }
}

/** Logs in by name where a page asks for it, chooses patient and encounter, and consents to everything. */
export const goThrough = async (
  browser: TestBrowser,
  url: string,
  {
    patient = 'p1',
    encounter: visit = 'e1',
    name = 'Dr. Demo',
  }: { patient?: string; encounter?: string; name?: string } = {},
): Promise<BrowserPage> => {
  let page = await browser.open(url)
  for (let step = 0; step < 6 && !page.hasLeft && page.status === 200; step += 1) {
    const at = page.url.split(/[/?]/).at(-1)
    if (at === 'login') page = await browser.submit(page, { username: name })
    else if (at === 'patient') page = await browser.submit(page, { patient })
    else if (at === 'encounter') page = await browser.submit(page, { encounter: visit })
    else if (at === 'consent') page = await browser.submit(page, { decision: 'allow' })
    else throw new Error(`an unknown page: ${page.url}`)
  }
  return page
}

/** Parameters of the redirect back to the client. */
export const returned = (page: BrowserPage): URLSearchParams => {
  if (!page.hasLeft) throw new Error(`no redirect to the client: ${page.status} ${page.url} ${page.body}`)
  return new URL(page.url).searchParams
}

export const codeOf = (page: BrowserPage): string => {
  const code = returned(page).get('code')
  if (code === null) throw new Error(`no code: ${page.url}`)
  return code
}

/** Headers and parameters by which the client authenticates. */
const proofOf = ({ id, secret }: App): { form: Parameters; headers: Record<string, string> } =>
  secret === undefined
    ? { form: { client_id: id }, headers: {} }
    : { form: {}, headers: { authorization: basicOf(id, secret) } }

export const exchange = (server: AnsweringServer, app: App, code: string, verifier: string, more: Parameters = {}) => {
  const { form, headers } = proofOf(app)
  const own = { grant_type: 'authorization_code', code, redirect_uri: app.redirectUri, code_verifier: verifier }
  return postForm(server, '/oauth/token', { ...own, ...form, ...more }, headers)
}

export const refresh = (
  server: AnsweringServer,
  app: App,
  token: string,
  more: Parameters = {},
  moreHeaders: Readonly<Record<string, string>> = {},
) => {
  const { form, headers } = proofOf(app)
  return postForm(
    server,
    '/oauth/token',
    { grant_type: 'refresh_token', refresh_token: token, ...form, ...more },
    { ...headers, ...moreHeaders },
  )
}

export interface Tokens extends Json {
  readonly access_token: string
  readonly refresh_token?: string
  readonly id_token?: string
}

/** The whole flow: the tokens of a person who has consented to everything. */
export const tokensOf = async (
  server: AnsweringServer,
  app: App,
  scope: string,
  more: Readonly<Record<string, string | undefined>> = {},
  browser: TestBrowser = createTestBrowser(server),
): Promise<Tokens> => {
  const asked = askFor(app, scope, more)
  const code = codeOf(await goThrough(browser, asked.url))
  const answer = await exchange(server, app, code, asked.verifier)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.json() as Tokens
}

export const bearing = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` })
